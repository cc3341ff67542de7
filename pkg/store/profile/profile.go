// Package profile is what a file-backed profile offers to the operations above
// it: opening, looking at a root in any state, and compacting. The profiles
// differ in their files alone, so a command that talks to these interfaces
// serves each of them. It must not know any profile.
package profile

import (
	"context"
	"io"
	"time"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Options say how a root is opened. FS is required; the zero value of the rest
// is the default.
type Options struct {
	FS vfs.FS
	// ReadOnly opens without writing anything at all: no truncation of a torn
	// row, no lock file, no cleaning. It works on a read-only mount.
	ReadOnly bool
	// LockWait is how long a lock held by someone else is waited for.
	LockWait time.Duration
	// Waiting, unless nil, is told once what is being waited for.
	Waiting func(what string)
	// Capacity is the arena length of a root being created, in bytes, for a
	// profile whose arena has a fixed one. Zero leaves it to the variable of
	// the profile, and else to the platform's default.
	Capacity uint64
	// LookupEnv, unless nil, is asked for the capacity, and only when an arena
	// has to be made. Programs pass os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// NoPublish keeps a writer from publishing posting lists, as a sweep does
	// whose compaction removes them all.
	NoPublish bool
	// IndexMemory bounds the posting lists in memory, in bytes.
	IndexMemory int64
}

// Choose decides what to retain, with a store that is open only during the
// call. It must keep no record that the store returned.
type Choose func(ctx context.Context, b store.Backend) (*kept.Set, error)

// CompactOptions say how a root is compacted.
type CompactOptions struct {
	// Open says how the root is opened; ReadOnly and Capacity do not apply.
	Open Options
	// JournalSize is the most bytes of a batch; zero is the default.
	JournalSize uint64
	// Approve, unless nil, may refuse a plan before anything is changed.
	Approve func(*compact.Plan) error
	// DiscardUnlisted lets a compaction go on although a whole record lies
	// behind the end of the rows.
	DiscardUnlisted bool
	Run             compact.Options
}

// Plan plans to retain a set of the rows of a root, and has the plan approved.
func (o CompactOptions) Plan(rows rowlog.Rows, set *kept.Set) (*compact.Plan, error) {
	journal := o.JournalSize
	if journal == 0 {
		journal = compact.DefaultJournalSize
	}
	plan, err := compact.NewPlan(rows, set, journal)
	if err == nil && o.Approve != nil {
		err = o.Approve(plan)
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// Profile is one physical layout that this build serves. The root of every
// call is one whose marker names the profile; the marker is checked again
// under the bootstrap lock.
type Profile interface {
	// Name is the profile as package root names it.
	Name() string
	// Create makes the root dir, or opens it when it is there already.
	Create(ctx context.Context, dir string, opts Options) (Store, error)
	// Open opens an existing root and recovers it.
	Open(ctx context.Context, dir string, opts Options) (Store, error)
	// Examine opens a root to be looked at in any state, and writes nothing.
	Examine(ctx context.Context, dir string, opts Options) (Examination, error)
	// Compact removes what choose leaves out, in place, or finishes the
	// compaction that was interrupted before.
	Compact(ctx context.Context, dir string, opts CompactOptions, choose Choose) (compact.Report, error)
	// Resume finishes an interrupted compaction.
	Resume(ctx context.Context, dir string, opts CompactOptions) (compact.Report, error)
}

// Store is an opened root. It is not safe for concurrent use.
type Store interface {
	store.Backend
	Position() store.Position
	// Table is the rows of the root, as many as there are now. It outlives the
	// store.
	Table() *rowlog.Table
	// Row is the row of an id in [1, Position()].
	Row(id store.RecordID) (rowlog.Row, error)
	// Rows are the rows through a position that the root has reached, however
	// far it has come since. They can be read until Close.
	Rows(through store.Position) (rowlog.Rows, error)
	// Arena reads records by the offsets of their rows.
	Arena() io.ReaderAt
	// Lookup finds a record by its hash; zero is none.
	Lookup(h record.Hash) (store.RecordID, error)
	// Stage receives a record of the given length in bytes and proves that its
	// hash is want. A record that breaks a rule is a record.FormatError.
	Stage(want record.Hash, length uint64, r io.Reader) (Staged, error)
	// ListStats says what posting lists were used and built.
	ListStats() index.Stats
}

// Staged is a received record that is no part of the root yet.
type Staged interface {
	Record() store.NewRecord
	// Release gives back what holds the record.
	Release() error
}

// Examination is a root that is looked at in any state, interrupted and damaged
// ones included. No byte of its arena was checked.
type Examination interface {
	// Table has the rows before the first bad one, if there is one.
	Table() *rowlog.Table
	// TornBytes is the length of an incomplete last row.
	TornBytes() uint64
	// Damage, unless nil, is the first thing that would make an ordinary
	// opening fail.
	Damage() error
	// ArenaProblem, unless nil, says why the arena is none a root can have.
	ArenaProblem() error
	// Files are the files of an interrupted compaction.
	Files() compact.Files
	// Status says how far an interrupted compaction came.
	Status() (compact.Status, error)
	// Prove hashes every retained record of an interrupted compaction at the
	// places where a resume would look for it.
	Prove(ctx context.Context, progress func(done, total uint64)) (move.Proof, error)
	// Record reads one record. An id outside the root is an error.
	Record(id store.RecordID) ([]byte, rowlog.Row, error)
	// Input is what a verification of the records reads.
	Input() verify.Input
	// CheckIndexes compares every posting list with a scan of the records.
	CheckIndexes(ctx context.Context) (listdir.Checked, error)
	// Close gives the root back.
	Close() error
}
