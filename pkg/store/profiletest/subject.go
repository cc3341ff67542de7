package profiletest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Dir is where the roots of the tests are on a model file system.
const Dir = compacttest.Dir

// Subject is a profile under test, and a compacttest.Subject.
type Subject struct {
	Profile profile.Profile
	// Capacity is that of a root being made, in bytes.
	Capacity uint64
	// Ignore names files of a root that are no content of it.
	Ignore []string
	// Operator, unless nil, does what a profile asks of an operator before a
	// root is opened whose last owner may have died.
	Operator func(fsys vfs.FS, dir string) error
}

var _ compacttest.Subject = Subject{}

func (s Subject) operate(fsys vfs.FS, dir string) error {
	if s.Operator == nil {
		return nil
	}
	return s.Operator(fsys, dir)
}

// Create makes a root, or finishes making it, and opens it.
func (s Subject) Create(ctx context.Context, fsys vfs.FS, dir string) (profile.Store, error) {
	if err := s.operate(fsys, dir); err != nil {
		return nil, err
	}
	return s.Profile.Create(ctx, dir, profile.Options{FS: fsys, Capacity: s.Capacity})
}

// OpenStore opens a root for writing.
func (s Subject) OpenStore(ctx context.Context, fsys vfs.FS, dir string) (profile.Store, error) {
	if err := s.operate(fsys, dir); err != nil {
		return nil, err
	}
	return s.Profile.Open(ctx, dir, profile.Options{FS: fsys})
}

// Contents opens a root for writing and returns its records.
func (s Subject) Contents(t testing.TB, fsys vfs.FS, dir string) (all [][]byte, err error) {
	t.Helper()
	b, err := s.OpenStore(t.Context(), fsys, dir)
	if err != nil {
		return nil, err
	}
	all, err = Load(b)
	return all, errors.Join(err, b.Close())
}

// MakeRoot makes a root with some records and closes it.
func (s Subject) MakeRoot(t testing.TB, fsys vfs.FS, dir string, records ...[]byte) {
	t.Helper()
	b, err := s.Create(t.Context(), fsys, dir)
	Must(t, err)
	_, err = Admit(b, records...)
	Must(t, errors.Join(err, b.Close()))
}

// NewRoot makes a root on the system's files.
func (s Subject) NewRoot(t testing.TB, records ...[]byte) (fsys vfs.FS, dir string) {
	t.Helper()
	fsys, dir = QuickFS(), filepath.Join(t.TempDir(), "root")
	s.MakeRoot(t, fsys, dir, records...)
	return fsys, dir
}

// Build implements compacttest.Subject.
func (s Subject) Build(fsys vfs.FS, dir string, records [][]byte) error {
	b, err := s.Create(context.Background(), fsys, dir)
	if err != nil {
		return err
	}
	if _, err := b.Execute(Op(records...)); err != nil {
		return err
	}
	// Asked twice, a key is worth a posting list, which a compaction must
	// remove.
	if err := Ask(b, 2); err != nil {
		return err
	}
	mapped, ok := b.(interface{ MappingReleased() <-chan struct{} })
	if !ok {
		return b.Close()
	}
	ended := mapped.MappingReleased()
	if err := b.Close(); err != nil {
		return err
	}
	for {
		select {
		case <-ended:
			return nil
		default:
			runtime.GC() // the results above are gone, but their owner is not yet
		}
	}
}

// Ask asks for one key: twice is worth a posting list, and often is worth
// publishing a list that has grown.
func Ask(b store.Backend, times int) error {
	for range times {
		_, err := b.Execute(store.FindRecords{
			Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
			UpperInclusive: store.Latest, MaxRows: store.Unbounded,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func compactOptions(fsys vfs.FS, s compacttest.Settings) profile.CompactOptions {
	return profile.CompactOptions{Open: profile.Options{FS: fsys}, JournalSize: s.Journal, Run: s.Run}
}

// Compact implements compacttest.Subject.
func (s Subject) Compact(ctx context.Context, fsys vfs.FS, dir string, set *kept.Set, how compacttest.Settings) (compact.Report, error) {
	if err := s.operate(fsys, dir); err != nil {
		return compact.Report{}, err
	}
	choose := func(_ context.Context, b store.Backend) (*kept.Set, error) {
		got, err := b.Execute(store.CurrentStorePosition{})
		if err == nil && got.(store.PositionResult).Position != set.Boundary() {
			err = fmt.Errorf("the store to choose from has position %v", got)
		}
		return set, err
	}
	return s.Profile.Compact(ctx, dir, compactOptions(fsys, how), choose)
}

// Resume implements compacttest.Subject.
func (s Subject) Resume(ctx context.Context, fsys vfs.FS, dir string, how compacttest.Settings) (compact.Report, error) {
	if err := s.operate(fsys, dir); err != nil {
		return compact.Report{}, err
	}
	return s.Profile.Resume(ctx, dir, compactOptions(fsys, how))
}

// Open implements compacttest.Subject.
func (s Subject) Open(ctx context.Context, fsys vfs.FS, dir string) (err error) {
	b, err := s.OpenStore(ctx, fsys, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for id := store.RecordID(1); store.Position(id) <= b.Position(); id++ {
		got, err := b.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}})
		if err != nil {
			return err
		}
		rec := got.(store.LoadedResult).Records[0]
		if rec.ID != id {
			return fmt.Errorf("record #%d is missing", id)
		}
		if err := record.VerifyBytes(rec.Bytes, rec.Hash); err != nil {
			return fmt.Errorf("record #%d: %w", id, err)
		}
	}
	return nil
}
