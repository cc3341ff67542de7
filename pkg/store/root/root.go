// Package root knows what a Lace root looks like from outside: entry names,
// profile markers and which profile a directory claims to be. It opens nothing
// but the marker, and locks and changes nothing.
package root

import (
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Names of the entries of a root (seed 002).
const (
	Marker     = "store-format"
	Lock       = "lock"
	NodeLock   = "node-lock"
	ArenaLock  = "arena-lock"
	RecordLog  = "record-log"
	Records    = "records"
	LMDBData   = "data.mdb"
	LMDBLock   = "lock.mdb"
	Staging    = "staging"
	IndexStart = "indexes-"   // every generation of index directories starts so
	Indexes    = "indexes-v2" // the current generation
)

// Names of the files of an interrupted compaction (seed 000). Each may also be
// there with vfs.TempSuffix.
const (
	Plan    = "compaction-plan"
	State   = "compaction-state"
	Journal = "compaction-journal"
)

// The exact markers, LF included.
const (
	NativeMarker       = "lace-native-filesystem-shaped-store/6\n"
	LMDBMarker         = "lace-native-lmdb-store/6\n"
	NodeMarker         = "lace-node-filesystem-shaped-store/4\n"
	OPFSMarker         = "lace-filesystem-shaped-store/6\n"
	LocalStorageMarker = "lace-local-storage-store/4\n"
)

// CompactionEntries returns the names that ordinary open rejects: the files of
// an interrupted compaction and the temporaries of every replace.
func CompactionEntries() []string {
	return []string{
		Plan, State, Journal,
		Plan + vfs.TempSuffix, State + vfs.TempSuffix, Journal + vfs.TempSuffix,
		RecordLog + vfs.TempSuffix,
	}
}

// ForeignEntries returns the names that a root of another profile has and one of
// the named profile never. One that is there tells of a marker that was
// exchanged: the locks of the two profiles do not exclude each other.
func ForeignEntries(profile string) []string {
	own := map[string][]string{
		Native: {Lock, ArenaLock, RecordLog, Staging},
		LMDB:   {ArenaLock, LMDBData},
		Node:   {NodeLock, RecordLog},
	}[profile]
	telling := []string{Lock, NodeLock, ArenaLock, RecordLog, Staging, LMDBData}
	return slices.DeleteFunc(telling, func(name string) bool { return slices.Contains(own, name) })
}

// ProfileOf names the profile that has exactly this marker.
func ProfileOf(marker []byte) (name string, ok bool) {
	name, ok = markers()[string(marker)]
	return name, ok
}

// ProfileBeginning names the only profile whose marker begins so.
func ProfileBeginning(marker []byte) (name string, ok bool) {
	for known, profile := range markers() {
		if strings.HasPrefix(known, string(marker)) {
			if ok {
				return "", false
			}
			name, ok = profile, true
		}
	}
	return name, ok
}
