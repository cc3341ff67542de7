package compacttest_test

import (
	"context"
	"errors"
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
					calls := faultfs.New(a.start(t), compacttest.Dir)
					if _, err := compacttest.Adopt(compacttest.Plain{}, s, nil).Step(calls); err != nil {
						t.Fatal(err)
					}
					for k := 1; k <= calls.Count(faultfs.All); k++ {
						call := calls.Calls(faultfs.All)[k-1]
						if call.Err != nil && !errors.Is(call.Err, vfs.ErrUnsupported) {
							continue // an absent file: failing to find it is a fault of another call
						}
						failCall(t, s, a.start(t), call, k, after)
					}
				})
			}
		}
	}
}

func failCall(t *testing.T, s *compacttest.Shape, base *crashfs.FS, call faultfs.Call, k int, after bool) {
	t.Helper()
	fsys := faultfs.New(base, compacttest.Dir)
	fault := fsys.Inject(faultfs.Fault{Match: faultfs.All, At: k, Err: syscall.EIO, After: after, Short: 7})
	_, err := compacttest.Adopt(compacttest.Plain{}, s, nil).Step(fsys)
	if fault.Fired() == 0 {
		t.Fatalf("call %d (%s): the fault did not fire", k, call)
	}
	if !errors.Is(err, syscall.EIO) {
		if call.Op == faultfs.DropCache && err == nil {
			return // advice
		}
		t.Fatalf("call %d (%s) fails, and the run says %v", k, call, err)
	}
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("call %d (%s) fails, and leaks %q", k, call, leaks)
	}
	if call.Op == faultfs.Sync || call.Op == faultfs.SyncDir {
		for _, later := range fsys.Calls(faultfs.All)[k:] {
			if later.Op == call.Op && later.Path == call.Path {
				t.Errorf("call %d (%s) failed and is retried", k, call)
			}
		}
	}
	finishes(t, s, base.Clone(), call.String())
}

// finishes resumes, or compacts, and checks the new root.
func finishes(t *testing.T, s *compacttest.Shape, fsys *crashfs.FS, why string) {
	t.Helper()
	h := compacttest.Adopt(compacttest.Plain{}, s, fsys)
	if err := h.CheckOpen(); err != nil {
		t.Errorf("%s: %v", why, err)
	}
	if err := h.Finish(); err != nil {
		t.Errorf("%s: %v", why, err)
	}
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
			finishes(t, s, after, "full disk")
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
			finishes(t, s, fsys.Clone(), "stopped")
		}
	}
	if stopped < 20 {
		t.Errorf("only %d runs were stopped", stopped)
	}
}
