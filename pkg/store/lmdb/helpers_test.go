//go:build cgo

package lmdb_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// minCapacity is the least capacity of a root, in bytes.
const minCapacity = 1 << 20

// quick is the system's files without the waiting: nothing that these tests
// kill is the machine.
type quick struct{ vfs.FS }

type quickFile struct{ vfs.File }

func (quickFile) Sync() error           { return nil }
func (quick) SyncDir(path string) error { return nil }

func (q quick) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := q.FS.OpenFile(path, mode)
	if err != nil {
		return nil, err
	}
	return quickFile{f}, nil
}

func quickFS() vfs.FS { return quick{osfs.New()} }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// blob is a valid record that is different for every n.
func blob(n int) []byte {
	v, err := record.BuildBlob(nil, fmt.Appendf(nil, "blob number %d %s", n, strings.Repeat("x", n%7*90)))
	if err != nil {
		panic(err)
	}
	return v.Bytes()
}

func blobs(lo, hi int) [][]byte {
	var all [][]byte
	for n := lo; n < hi; n++ {
		all = append(all, blob(n))
	}
	return all
}

func storeOp(records ...[]byte) store.StoreRecords {
	var op store.StoreRecords
	for _, rec := range records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			panic(err)
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	return op
}

// newRoot makes a root with some records and returns its open store.
func newRoot(t testing.TB, records ...[]byte) (fsys vfs.FS, dir string, s *lmdb.Store) {
	t.Helper()
	fsys, dir = quickFS(), filepath.Join(t.TempDir(), "root")
	b, err := lmdb.Quick().Create(t.Context(), dir, profile.Options{FS: fsys, Capacity: minCapacity})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	_, err = b.Execute(storeOp(records...))
	must(t, err)
	return fsys, dir, b.(*lmdb.Store)
}
