package compacttest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// built returns a file system with the root of a shape.
func built(t *testing.T, s *compacttest.Shape, o crashfs.Options) *crashfs.FS {
	t.Helper()
	fsys := crashfs.New(o)
	err := compacttest.Plain{}.Build(fsys, compacttest.Dir, s.Records)
	if err = errors.Join(err, fsys.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return fsys
}

// attempt is one run of a fault test: a compaction of a root, or the resume of
// one that was killed at some call.
type attempt struct {
	name  string
	start func(t *testing.T) *crashfs.FS
}

func attempts(s *compacttest.Shape) []attempt {
	list := []attempt{{"compact", func(t *testing.T) *crashfs.FS { return built(t, s, s.FS) }}}
	for _, at := range []int{4, 8, 12, 16, 20, 24} {
		list = append(list, attempt{"resume", func(t *testing.T) *crashfs.FS {
			fsys := built(t, s, s.FS)
			fsys.CrashAt(fsys.Calls() + at)
			_, err := compacttest.Plain{}.Compact(context.Background(), fsys, compacttest.Dir, s.Set(), s.Settings(1))
			if err == nil {
				t.Skipf("the compaction has fewer than %d calls", at)
			}
			return fsys.Clone()
		}})
	}
	return list
}

// TestEveryCallFails lets every call of every kind fail once, before or after
// it took effect. The run ends with a clear error, leaks nothing, retries no
// sync, and the next run finishes the work.
func TestEveryCallFails(t *testing.T) {
	for seed := uint64(1); seed <= uint64(max(states(50)/10, 1)); seed++ {
		s := compacttest.NewShape(seed)
		for _, a := range attempts(s) {
			for _, after := range []bool{false, true} {
				t.Run(a.name, func(t *testing.T) {
					for _, err := range everyCallFails(t, s, a, after, nil) {
						t.Error(err)
					}
				})
			}
		}
	}
}

// everyCallFails returns what is wrong with the runs in which one call failed.
// wrap, unless nil, is put around the file system that fails.
func everyCallFails(t *testing.T, s *compacttest.Shape, a attempt, after bool, wrap func(vfs.FS) vfs.FS) (wrong []error) {
	t.Helper()
	if wrap == nil {
		wrap = func(fsys vfs.FS) vfs.FS { return fsys }
	}
	calls := faultfs.New(a.start(t), compacttest.Dir)
	if _, err := compacttest.Adopt(compacttest.Plain{}, s, nil).Step(wrap(calls)); err != nil {
		t.Fatal(err)
	}
	for k, call := range calls.Calls(faultfs.All) {
		if call.Err != nil && !errors.Is(call.Err, vfs.ErrUnsupported) {
			continue // an absent file: failing to find it is a fault of another call
		}
		fault := faultfs.Fault{Match: faultfs.All, At: k + 1, Err: syscall.EIO, After: after, Short: 7}
		if err := failCall(s, a.start(t), call, fault, wrap); err != nil {
			wrong = append(wrong, fmt.Errorf("call %d (%s) fails (after it took effect: %v): %w", k+1, call, after, err))
		}
	}
	return wrong
}

func failCall(s *compacttest.Shape, base *crashfs.FS, call faultfs.Call, injected faultfs.Fault, wrap func(vfs.FS) vfs.FS) error {
	fsys := faultfs.New(base, compacttest.Dir)
	fault := fsys.Inject(injected)
	_, err := compacttest.Adopt(compacttest.Plain{}, s, nil).Step(wrap(fsys))
	if fault.Fired() == 0 {
		return errors.New("the fault did not fire")
	}
	if !errors.Is(err, injected.Err) {
		if call.Op == faultfs.DropCache && err == nil {
			return nil // advice
		}
		return fmt.Errorf("the run says %v", err)
	}
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		return fmt.Errorf("leaks %q", leaks)
	}
	if call.Op == faultfs.Sync || call.Op == faultfs.SyncDir {
		for _, later := range fsys.Calls(faultfs.All)[injected.At:] {
			if later.Op == call.Op && later.Path == call.Path {
				return errors.New("it is retried")
			}
		}
	}
	return finishes(s, base.Clone())
}

// finishes resumes, or compacts, and checks the new root.
func finishes(s *compacttest.Shape, fsys *crashfs.FS) error {
	h := compacttest.Adopt(compacttest.Plain{}, s, fsys)
	return errors.Join(h.CheckOpen(), h.Finish())
}

// roomy is a file system that claims more space than it has.
type roomy struct {
	vfs.FS
	space vfs.Space
}

func (r *roomy) Space(string) (vfs.Space, error) { return r.space, nil }

// TestDiskFull fills the disk up to a few sectors, so that space ends at any
// point of a run whose preflight was lied to. The run says so; once there is
// space, the next one finishes.
func TestDiskFull(t *testing.T) {
	const disk = 4 << 20
	reached := map[string]bool{}
	for seed := uint64(1); seed < 12; seed++ {
		s := compacttest.NewShape(seed)
		for free := int64(0); ; free += 512 {
			fsys := built(t, s, crashfs.Options{FreeBytes: disk})
			fill(t, fsys, free)
			report, err := compacttest.Plain{}.Compact(t.Context(), &roomy{fsys, vfs.Space{FreeBytes: -1, FreeInodes: -1}}, compacttest.Dir, s.Set(), s.Settings(1))
			if err == nil {
				if report.Outcome != compact.Done {
					t.Errorf("shape %d: outcome %s", seed, report.Outcome)
				}
				break
			}
			var known *store.Error
			if !errors.As(err, &known) || !errors.Is(err, store.NoSpace) || known.Hint == "" {
				t.Fatalf("shape %d with %d bytes free: %#v", seed, free, err)
			}
			reached[strings.TrimSuffix(filepath.Base(known.Path), vfs.TempSuffix)] = true
			after := fsys.Clone()
			if err := after.Remove("/ballast"); err != nil {
				t.Fatal(err)
			}
			if err := finishes(s, after); err != nil {
				t.Errorf("full disk: %v", err)
			}
		}
	}
	for _, name := range []string{root.Plan, root.State, root.Journal} {
		if !reached[name] {
			t.Errorf("the disk was never full at %s: %v", name, reached)
		}
	}
}

// fill leaves that many bytes free.
func fill(t *testing.T, fsys *crashfs.FS, free int64) {
	t.Helper()
	f, err := fsys.OpenFile("/ballast", vfs.ReadWrite|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	space, err := fsys.Space("/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, max(space.FreeBytes-free, 0)), 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close(), fsys.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
}

// TestPreflightRefusesOneByteShort: what is needed is told with what is free,
// and nothing has changed.
func TestPreflightRefusesOneByteShort(t *testing.T) {
	s := compacttest.NewShape(3)
	probe := built(t, s, crashfs.Options{})
	// The numbers of the formula: plan, one journal at most, the new log.
	var needed int64
	for free := int64(1 << 20); ; free++ {
		fsys := faultfs.New(probe.Clone(), compacttest.Dir)
		_, err := compacttest.Plain{}.Compact(t.Context(), &roomy{fsys, vfs.Space{FreeBytes: free, FreeInodes: -1}}, compacttest.Dir, s.Set(), s.Settings(1))
		if err == nil {
			needed = free
			break
		}
		if !errors.Is(err, store.NoSpace) {
			t.Fatal(err)
		}
		if n := fsys.Count(func(c faultfs.Call) bool { return faultfs.Changing(c) && c.Op != faultfs.SyncDir }); n > 0 {
			t.Fatalf("refused, but %d calls changed something:\n%s", n, fsys.Transcript(faultfs.Changing))
		}
	}
	if kept := s.Set().Count(); needed < int64(1<<20+32+(72+64)*kept) {
		t.Errorf("%d bytes are enough for %d rows", needed, kept)
	}
	for _, inodes := range []int64{0, 1, 3} {
		_, err := compacttest.Plain{}.Compact(t.Context(), &roomy{probe.Clone(), vfs.Space{FreeBytes: -1, FreeInodes: inodes}}, compacttest.Dir, s.Set(), s.Settings(1))
		if !errors.Is(err, store.NoSpace) || !strings.Contains(err.Error(), "inodes") {
			t.Errorf("with %d inodes: %v", inodes, err)
		}
	}
}

// resumeStops wants a resume that is to stop from the start to write nothing to
// the arena of a root with a state, however few batches are left.
func resumeStops(s *compacttest.Shape, fsys *crashfs.FS) error {
	if _, err := fsys.Stat(filepath.Join(compacttest.Dir, root.State)); err != nil {
		return nil // nothing is left to move
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	seen := faultfs.New(fsys, compacttest.Dir)
	_, err := compacttest.Plain{}.Resume(ctx, seen, compacttest.Dir, s.Settings(1))
	if !errors.Is(err, store.Interrupted) {
		return fmt.Errorf("a resume that is to stop ends with %v", err)
	}
	if n := seen.Count(func(c faultfs.Call) bool { return c.Op == faultfs.Write && c.Path == root.Records }); n > 0 {
		return fmt.Errorf("a resume that is to stop writes %d times", n)
	}
	return finishes(s, fsys)
}

// TestStopOnRequest: a done context stops before anything is changed, or
// between two batches, and what is left resumes.
func TestStopOnRequest(t *testing.T) {
	stopped := 0
	for seed := uint64(0); seed < 20; seed++ {
		s := compacttest.NewShape(seed)
		for after := 0; after < 6; after++ {
			fsys := built(t, s, s.FS)
			ctx, cancel := context.WithCancel(t.Context())
			settings, events := s.Settings(1), 0
			settings.Run.Progress = func(p compact.Progress) {
				if p.Phase == "move" {
					if events++; events > after {
						cancel()
					}
				}
			}
			if after == 0 {
				cancel()
			}
			_, err := compacttest.Plain{}.Compact(ctx, fsys, compacttest.Dir, s.Set(), settings)
			cancel()
			if err == nil {
				continue
			}
			stopped++
			if !errors.Is(err, store.Interrupted) || !errors.Is(err, context.Canceled) {
				t.Fatalf("shape %d stopped after %d: %v", seed, after, err)
			}
			if _, err := fsys.Stat(filepath.Join(compacttest.Dir, root.Plan)); after == 0 && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("shape %d: stopped before the start, and there is a plan (%v)", seed, err)
			}
			if err := resumeStops(s, fsys.Clone()); err != nil {
				t.Errorf("shape %d stopped after %d: %v", seed, after, err)
			}
			if err := finishes(s, fsys.Clone()); err != nil {
				t.Errorf("stopped: %v", err)
			}
		}
	}
	if stopped < 20 {
		t.Errorf("only %d runs were stopped", stopped)
	}
}
