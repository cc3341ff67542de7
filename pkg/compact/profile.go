package compact

import (
	"fmt"
	"iter"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Profile is what the algorithm needs of a physical profile. The caller owns
// the root exclusively, and no mapping of it is alive. A profile is a Publisher
// or a Reloader besides, as its rows are a file or a database.
type Profile interface {
	FS() vfs.FS
	// Dir is the root directory.
	Dir() string
	// Arena is records, open for positional reading and writing.
	Arena() vfs.File
	// Release gives back the bytes behind the new end and makes that durable
	// (step E). It is idempotent.
	Release(newEnd uint64) (Release, error)
	// ReleaseWorth is how many bytes of storage lie behind the new end, as far
	// as the system tells.
	ReleaseWorth(newEnd uint64) (uint64, error)
}

// Publisher is a Profile whose rows are a file that can be replaced.
type Publisher interface {
	Profile
	// RemoveIndexes removes the posting lists and makes that durable.
	RemoveIndexes() error
	// Publish durably replaces the row table by the given rows (step D). An
	// error in the sequence ends it with that error and without effect.
	Publish(rows iter.Seq2[rowlog.Row, error]) error
}

// requireRows refuses a Profile that is neither a Publisher nor a Reloader, or
// both, before anything is changed: a compaction could not be finished.
func requireRows(p Profile) error {
	_, publishes := p.(Publisher)
	_, reloads := p.(Reloader)
	if publishes != reloads {
		return nil
	}
	return &store.Error{
		Kind: store.Integration, Doing: "compact", Root: p.Dir(),
		Found: fmt.Sprintf("a profile that publishes rows: %v, and reloads them: %v", publishes, reloads), Want: "one of both",
	}
}

// Release is how the tail was given back.
type Release string

// The ways of giving a tail back. Unsupported is an answer, not an error: the
// root is consistent, its file system cannot free the inside of a file.
const (
	Punched     Release = "punched"
	Truncated   Release = "truncated"
	Unsupported Release = "unsupported"
)
