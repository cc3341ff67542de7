package storetest

import (
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Factory opens a new, empty store that may be written to. The suite closes
// it; whatever else must be undone is the business of t.Cleanup.
type Factory func(t *testing.T) store.Backend

// Capabilities are what a backend offers beyond the boundary. Tests that need
// one that is nil are not run, and are not listed.
type Capabilities struct {
	// Reopen opens again, for writing, the root of a store that was closed.
	Reopen func(t *testing.T, closed store.Backend) store.Backend
	// ReopenReadOnly does so for reading only.
	ReopenReadOnly func(t *testing.T, closed store.Backend) store.Backend
	// Lists says where the root of a closed store keeps its durable posting
	// lists, in the paths of seed 002.
	Lists func(t *testing.T, closed store.Backend) (fsys vfs.FS, dir string)
	// LoseRow makes the row of one admitted id disappear behind the store's
	// back.
	LoseRow func(t *testing.T, b store.Backend, id store.RecordID)
	// ListsAtAdmission says that posting lists are there before a query asks
	// for them, so that none is built by a scan of other records.
	ListsAtAdmission bool
	// Visited returns how many residual candidates searches have visited.
	Visited func(b store.Backend) uint64
}

// Run runs the whole suite: the boundary tests of the store boundary as named
// subtests, and random conversations against the linear store.
func Run(t *testing.T, open Factory, caps Capabilities) {
	s := suite{open: open, caps: caps}
	t.Run("find", s.testFind)
	t.Run("resolve", s.testResolve)
	t.Run("load", s.testLoad)
	t.Run("admit", s.testAdmit)
	t.Run("random", s.testRandom)
	if caps.Reopen != nil {
		t.Run("reopen", s.testReopen)
	}
	if caps.Reopen != nil && caps.Lists != nil {
		t.Run("lists", s.testLists)
	}
}

type suite struct {
	open Factory
	caps Capabilities
}

// fixture is a store under test beside the oracle, holding the same records.
type fixture struct {
	t       *testing.T
	backend store.Backend
	oracle  *Linear
}

// with opens a store that holds recs, admitted in one batch.
func (s suite) with(t *testing.T, recs ...Record) *fixture {
	t.Helper()
	f := &fixture{t: t, backend: s.open(t), oracle: &Linear{}}
	t.Cleanup(func() { f.close() })
	if len(recs) > 0 {
		f.agree(admission(recs...))
	}
	return f
}

// close closes the store once.
func (f *fixture) close() store.Backend {
	f.t.Helper()
	b := f.backend
	if b == nil {
		return nil
	}
	f.backend = nil
	if err := b.Close(); err != nil {
		f.t.Errorf("close: %v", err)
	}
	return b
}

// agree executes op on both stores, requires the same answer and returns it.
func (f *fixture) agree(op store.Op) store.Result {
	f.t.Helper()
	got, err := f.backend.Execute(op)
	want, wantErr := f.oracle.Execute(op)
	if diff := differ(got, err, want, wantErr); diff != "" {
		f.t.Fatalf("%T %+v: %s", op, op, diff)
	}
	return got
}

// find is agree for a search.
func (f *fixture) find(op store.FindRecords) store.FoundResult {
	f.t.Helper()
	res, ok := f.agree(op).(store.FoundResult)
	if !ok {
		_, err := f.oracle.Execute(op)
		f.t.Fatalf("%+v failed on both stores: %v", op, err)
	}
	return res
}
