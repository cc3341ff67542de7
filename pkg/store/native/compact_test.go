package native_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// compactable is a root on the real file system: 40 records of 64 KiB, of which
// every other one stays.
type compactable struct {
	fs    *faultfs.FS
	dir   string
	shape *compacttest.Shape
}

func newCompactable(t *testing.T) compactable {
	t.Helper()
	var lengths []int
	for range 20 {
		lengths = append(lengths, 64<<10, 60<<10)
	}
	c := compactable{dir: filepath.Join(t.TempDir(), "root"), shape: compacttest.Scripted(lengths, strings.Repeat("-k", 20), 1<<18)}
	c.fs = faultfs.New(osfs.New(), c.dir)
	if err := subject.Build(wideArena{c.fs}, c.dir, c.shape.Records); err != nil {
		t.Fatal(err)
	}
	c.fs.Forget()
	return c
}

// wideArena makes roots of 16 MiB out of what a Subject sizes for small shapes.
type wideArena struct{ vfs.FS }

func (w wideArena) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := w.FS.OpenFile(path, mode)
	if err != nil || filepath.Base(path) != root.Records {
		return f, err
	}
	return wideFile{f}, nil
}

type wideFile struct{ vfs.File }

func (f wideFile) Truncate(int64) error { return f.File.Truncate(16 << 20) }

func (c compactable) options() native.CompactOptions {
	return native.CompactOptions{Open: native.Options{FS: c.fs}, JournalSize: c.shape.Journal}
}

func (c compactable) choose(context.Context, store.Backend) (*kept.Set, error) {
	return c.shape.Set(), nil
}

// unchanged checks that nothing but locks was touched.
func (c compactable) unchanged(t *testing.T) {
	t.Helper()
	// Opening the store for the sweep flushes what earlier owners left.
	changed := func(call faultfs.Call) bool {
		return faultfs.Changing(call) && call.Op != faultfs.Sync && call.Op != faultfs.SyncDir && call.Err == nil
	}
	if n := c.fs.Count(changed); n > 0 {
		t.Errorf("%d calls changed something:\n%s", n, c.fs.Transcript(changed))
	}
	if leaks := c.fs.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %q", leaks)
	}
}

// TestCompaction: the kept set, and everything that goes on afterwards.
func TestCompaction(t *testing.T) {
	subject.Compaction(t, quickFS(), filepath.Join(t.TempDir(), "root"), compact.Punched)
}

// TestCompactReleasesStorage: order and bytes of what stays, ids from 1, and
// the storage that the file system takes back.
func TestCompactReleasesStorage(t *testing.T) {
	c := newCompactable(t)
	var phases []string
	opts := c.options()
	opts.Run.Progress = func(p compact.Progress) {
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
		if p.Done > p.Total {
			t.Errorf("progress %+v", p)
		}
		// An ordinary opener is kept out all the while.
		if _, err := native.Open(t.Context(), c.dir, native.Options{FS: osfs.New()}); !errors.Is(err, store.Busy) {
			t.Errorf("open during %s: %v", p.Phase, err)
		}
	}
	report, err := native.Compact(t.Context(), c.dir, opts, c.choose)
	if err != nil {
		t.Fatal(err)
	}
	if report.Outcome != compact.Done || report.Boundary != 40 || report.Retained.Records != 20 || report.Removed.Records != 20 {
		t.Errorf("report %+v", report)
	}
	if got := strings.Join(phases, " "); got != "plan move publish release" {
		t.Errorf("phases %s", got)
	}
	if report.Release == compact.Punched {
		freed := int64(report.AllocatedBefore) - int64(report.AllocatedAfter)
		if report.Released != report.Removed.Bytes || freed < int64(report.Released)-(64<<10) || report.NotFreed != "" {
			t.Errorf("released %d, freed %d, %q", report.Released, freed, report.NotFreed)
		}
	} else if report.Released != 0 || report.NotFreed == "" {
		t.Errorf("report %+v", report)
	}
	if err := subject.Open(t.Context(), c.fs, c.dir); err != nil {
		t.Error(err)
	}
	s, err := native.Open(t.Context(), c.dir, native.Options{FS: c.fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := store.RecordID(0)
	for i, rec := range c.shape.Records {
		if !c.shape.Kept[i] {
			continue
		}
		id++
		got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}})
		if err != nil || string(got.(store.LoadedResult).Records[0].Bytes) != string(rec) {
			t.Errorf("record #%d: %v", id, err)
		}
	}
	if s.Position() != 20 {
		t.Errorf("position %d", s.Position())
	}
}

// TestLiveRecordKeepsCompactionOut: a record that outlives its store holds the
// mapping; compaction fails as busy and changes nothing.
func TestLiveRecordKeepsCompactionOut(t *testing.T) {
	c := newCompactable(t)
	s, err := native.Open(t.Context(), c.dir, native.Options{FS: c.fs})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	c.fs.Forget()
	if _, err := native.Compact(t.Context(), c.dir, c.options(), c.choose); !errors.Is(err, store.Busy) {
		t.Errorf("with an open store: %v", err)
	}
	released := s.MappingReleased()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, store.Backend) (*kept.Set, error) {
		t.Error("the sweep began although a record is alive")
		return c.shape.Set(), nil
	}
	if _, err := native.Compact(t.Context(), c.dir, c.options(), never); !errors.Is(err, store.Busy) {
		t.Errorf("with a live record: %v", err)
	}
	runtime.KeepAlive(got)
	s, got = nil, nil
	for done := false; !done; {
		runtime.GC()
		select {
		case <-released:
			done = true
		default:
		}
	}
	c.unchanged(t)
	if report, err := native.Compact(t.Context(), c.dir, c.options(), c.choose); err != nil || report.Outcome != compact.Done {
		t.Errorf("without it: %+v, %v", report, err)
	}
}

// TestRecordKeptByTheChoice: a choice that keeps a record of the store it was
// given is found out before a byte moves.
func TestRecordKeptByTheChoice(t *testing.T) {
	t.Parallel()
	c := newCompactable(t)
	var leaked store.Result
	_, err := native.Compact(t.Context(), c.dir, c.options(), func(_ context.Context, b store.Backend) (set *kept.Set, err error) {
		leaked, err = b.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}}})
		return c.shape.Set(), err
	})
	if !errors.Is(err, store.Busy) {
		t.Errorf("%v", err)
	}
	if found, err := compact.Look(c.fs, c.dir); err != nil || found.Any() {
		t.Errorf("files %+v, %v", found, err)
	}
	runtime.KeepAlive(leaked)
}

// TestNothingChangesBeforeThePlan: whatever refuses a compaction before step A
// leaves the root as it was.
func TestNothingChangesBeforeThePlan(t *testing.T) {
	refusal := errors.New("refused")
	for name, c := range map[string]struct {
		change func(*native.CompactOptions)
		choose func(*compacttest.Shape) (*kept.Set, error)
		want   error
	}{
		"the choice fails": {nil, func(*compacttest.Shape) (*kept.Set, error) { return nil, refusal }, refusal},
		"a guard refuses": {func(o *native.CompactOptions) {
			o.Approve = func(p *compact.Plan) error {
				if p.Removed.Records != 20 {
					return errors.New("a plan without figures")
				}
				return refusal
			}
		}, nil, refusal},
		"a set of another root":           {nil, func(*compacttest.Shape) (*kept.Set, error) { return kept.New(3), nil }, store.Integration},
		"a journal smaller than a record": {func(o *native.CompactOptions) { o.JournalSize = 1 << 10 }, nil, store.Integration},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCompactable(t)
			opts, choose := r.options(), r.choose
			if c.change != nil {
				c.change(&opts)
			}
			if c.choose != nil {
				choose = func(context.Context, store.Backend) (*kept.Set, error) { return c.choose(r.shape) }
			}
			if _, err := native.Compact(t.Context(), r.dir, opts, choose); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			r.unchanged(t)
		})
	}
}

// TestAnInterruptedRootIsNotChosenFor: compact on a root with a state finishes
// what it was chosen for before, and does not call the new choice.
func TestAnInterruptedRootIsNotChosenFor(t *testing.T) {
	c := newCompactable(t)
	ctx, cancel := context.WithCancel(t.Context())
	opts := c.options()
	opts.Run.Progress = func(p compact.Progress) {
		if p.Phase == "move" && p.Done > 0 {
			cancel()
		}
	}
	_, err := native.Compact(ctx, c.dir, opts, c.choose)
	var known *store.Error
	if !errors.Is(err, store.Interrupted) || !errors.As(err, &known) {
		t.Fatalf("%v", err)
	}
	if _, err := native.Open(t.Context(), c.dir, native.Options{FS: c.fs}); !errors.Is(err, store.NeedsResume) {
		t.Errorf("open: %v", err)
	}
	never := func(context.Context, store.Backend) (*kept.Set, error) {
		t.Error("a choice for a root that has to be resumed")
		return kept.New(40), nil
	}
	report, err := native.Compact(t.Context(), c.dir, c.options(), never)
	if err != nil || report.Outcome != compact.Resumed || report.Retained.Records != 20 {
		t.Errorf("%+v, %v", report, err)
	}
	report, err = native.Resume(t.Context(), c.dir, c.options())
	if err != nil || report.Outcome != compact.NothingToDo {
		t.Errorf("resume of a whole root: %+v, %v", report, err)
	}
}

// TestReleaseUnsupported: without punching the root is whole and says so.
func TestReleaseUnsupported(t *testing.T) {
	shape := compacttest.Scripted([]int{100, 200, 300}, "-kk", 400)
	fsys := crashfs.New(crashfs.Options{NoPunch: true, ReleaseAtOnce: true})
	if err := subject.Build(fsys, compacttest.Dir, shape.Records); err != nil {
		t.Fatal(err)
	}
	report, err := subject.Compact(t.Context(), fsys, compacttest.Dir, shape.Set(), compacttest.Settings{Journal: 400})
	if err != nil || report.Outcome != compact.Done || report.Release != compact.Unsupported || report.Released != 0 || report.NotFreed == "" {
		t.Errorf("%+v, %v", report, err)
	}
	if err := subject.Open(t.Context(), fsys, compacttest.Dir); err != nil {
		t.Error(err)
	}
}
