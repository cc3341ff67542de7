package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// busy checks the error about a sentinel that is there: its full path, and the
// condition for deleting it by hand.
func busy(t *testing.T, err error, dir string) {
	t.Helper()
	profiletest.Kind(t, err, store.Busy, root.NodeLock)
	var known *store.Error
	if !errors.As(err, &known) || known.Path != filepath.Join(dir, root.NodeLock) || !filepath.IsAbs(known.Path) {
		t.Errorf("%v does not have the full path", err)
		return
	}
	for _, part := range []string{known.Path, "no process has this root open", "by hand"} {
		if !strings.Contains(known.Hint, part) {
			t.Errorf("the hint %q lacks %q", known.Hint, part)
		}
	}
}

func TestSentinelHoldsThePid(t *testing.T) {
	fsys, dir := subject.NewRoot(t)
	s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	if got := profiletest.Get(t, fsys, filepath.Join(dir, root.NodeLock)); got != fmt.Sprintf("%d\n", os.Getpid()) {
		t.Errorf("the sentinel is %q", got)
	}
	must(t, errors.Join(s.Close(), s.Close()))
	if got := strings.Join(profiletest.Names(t, dir), " "); got != "record-log records store-format" {
		t.Errorf("a closed root has %s", got)
	}
}

// One program has a root open, whatever the others want of it, and by whatever
// path they come.
func TestExclusion(t *testing.T) {
	fsys, dir := subject.NewRoot(t, profiletest.Blob(1))
	linked := filepath.Join(t.TempDir(), "parent")
	must(t, os.Symlink(filepath.Dir(dir), linked))
	for _, readOnly := range []bool{false, true} {
		s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys, ReadOnly: readOnly})
		must(t, err)
		for _, o := range openers {
			err := o.open(fsys, dir)
			busy(t, err, dir)
			if !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
				t.Errorf("%s: %v does not name the owner", o.name, err)
			}
			profiletest.Kind(t, o.open(fsys, filepath.Join(linked, filepath.Base(dir))), store.Busy)
		}
		must(t, s.Close())
	}
	for _, o := range openers {
		must(t, o.open(fsys, dir))
	}
}

// A stale sentinel is never removed, whatever it holds, and nothing else of the
// root is touched; once it was deleted by hand, the root opens.
func TestStaleSentinel(t *testing.T) {
	for name, text := range map[string]string{
		"of a dead process": "999999999\n", "empty": "", "without an end": "12", "no number": "mine\n", "long": strings.Repeat("1", 100) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := subject.NewRoot(t, profiletest.Blob(1))
			profiletest.Put(t, fsys, filepath.Join(dir, root.NodeLock), text)
			profiletest.Unchanged(t, dir, func() {
				for _, o := range openers {
					err := o.open(fsys, dir)
					busy(t, err, dir)
					if named := strings.Contains(err.Error(), "process 999999999"); named != (name == "of a dead process") {
						t.Errorf("%s: %v", o.name, err)
					}
				}
			})
			must(t, os.Remove(filepath.Join(dir, root.NodeLock)))
			for _, o := range openers {
				must(t, o.open(fsys, dir))
			}
		})
	}
	for name, make := range map[string]func(path string) error{
		"directory":     func(path string) error { return os.Mkdir(path, 0o777) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"link":          func(path string) error { return os.Symlink(root.Records, path) },
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := subject.NewRoot(t)
			must(t, make(filepath.Join(dir, root.NodeLock)))
			for _, o := range openers {
				busy(t, o.open(fsys, dir), dir)
			}
		})
	}
}

// A sentinel that was deleted while the root was open, and perhaps made anew by
// another program, is not this program's to remove, and is told of.
func TestTakenSentinel(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"made anew": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("4242\n"), 0o666))
		},
		"overwritten": func(path string) error { return os.WriteFile(path, []byte("4242\n"), 0o666) },
		"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o777)) },
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := subject.NewRoot(t, profiletest.Blobs(0, 3)...)
			path := filepath.Join(dir, root.NodeLock)
			s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
			must(t, errors.Join(err, take(path)))
			err = s.Close()
			profiletest.Kind(t, err, store.Store, path, "while the root was open")
			if _, statErr := os.Lstat(path); (statErr == nil) != (name != "deleted") {
				t.Errorf("the other's sentinel: %v", statErr)
			}
			must(t, os.RemoveAll(path))
			opts := profile.CompactOptions{Open: profile.Options{FS: fsys}}
			opts.Approve = func(*compact.Plan) error { return take(path) }
			_, err = node.Profile{}.Compact(t.Context(), dir, opts, profiletest.KeepAll)
			profiletest.Kind(t, err, store.Store, path, "while the root was open")
		})
	}
}

// Many programs make one root at the same time. One owns it then, and each of
// the others is told that it is busy, nothing else.
func TestConcurrentMaking(t *testing.T) {
	for range 20 {
		fsys, dir := profiletest.QuickFS(), filepath.Join(t.TempDir(), "root")
		const programs = 8
		stores, errs := make([]*node.Store, programs), make([]error, programs)
		var start, done sync.WaitGroup
		start.Add(1)
		for i := range programs {
			done.Go(func() {
				start.Wait()
				stores[i], errs[i] = node.Create(t.Context(), dir, profile.Options{FS: fsys})
			})
		}
		start.Done()
		done.Wait()
		owners := 0
		for i, s := range stores {
			if errs[i] == nil {
				owners++
				must(t, s.Close())
			} else if !errors.Is(errs[i], store.Busy) {
				t.Errorf("program %d: %v", i, errs[i])
			}
		}
		if owners != 1 {
			t.Fatalf("%d owners", owners)
		}
	}
}

func TestLockWait(t *testing.T) {
	fsys, dir := subject.NewRoot(t)
	s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	profiletest.Kind(t, closed(node.Open(ctx, dir, profile.Options{FS: fsys, LockWait: time.Hour})), store.Interrupted)
	busy(t, closed(node.Open(t.Context(), dir, profile.Options{FS: fsys, LockWait: 50 * time.Millisecond})), dir)
	told := make(chan string, 1)
	go func() {
		<-told
		_ = s.Close() // Close is checked by the opening that waits for it
	}()
	must(t, closed(node.Open(t.Context(), dir, profile.Options{
		FS: fsys, LockWait: time.Minute, Waiting: func(what string) { told <- what },
	})))
}

// mounted is a file system that is mounted read-only, or only refuses.
type mounted struct {
	vfs.FS
	readOnly bool
}

func (m mounted) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	if mode != vfs.ReadOnly {
		if _, err := m.Stat(path); err == nil && mode&vfs.Exclusive != 0 {
			return nil, os.ErrExist
		}
		return nil, syscall.EROFS
	}
	return m.FS.OpenFile(path, mode)
}

func (m mounted) Space(path string) (vfs.Space, error) {
	space, err := m.FS.Space(path)
	space.ReadOnly = m.readOnly
	return space, err
}

// On a read-only mount a reader makes no sentinel, and respects one that is
// there. Where only this user may not write, another could meanwhile.
func TestReadOnlyMount(t *testing.T) {
	fsys, dir := subject.NewRoot(t, profiletest.Blobs(0, 3)...)
	profiletest.Unchanged(t, dir, func() {
		s, err := node.Open(t.Context(), dir, profile.Options{FS: mounted{fsys, true}, ReadOnly: true})
		must(t, err)
		all, err := profiletest.Load(s)
		if err = errors.Join(err, s.Close()); err != nil || !profiletest.Same(all, profiletest.Blobs(0, 3)) {
			t.Errorf("%d records, %v", len(all), err)
		}
		must(t, openers[3].open(mounted{fsys, true}, dir))
		err = openers[3].open(mounted{fsys, false}, dir)
		profiletest.Kind(t, err, store.Store, root.NodeLock)
		var known *store.Error
		if !errors.As(err, &known) || !strings.Contains(known.Hint, "read-only mount") {
			t.Errorf("%v", err)
		}
	})
	profiletest.Put(t, fsys, filepath.Join(dir, root.NodeLock), "1\n")
	for _, o := range openers[2:4] {
		busy(t, o.open(mounted{fsys, true}, dir), dir)
	}
}

// Whichever call of an opening, of a compaction or of a resume fails, no handle
// is left, and the sentinel goes unless a close failed, or its removal: then it
// stays, and the error says so (seed 002).
func TestSentinelStaysAfterAFailedClose(t *testing.T) {
	for _, o := range openers {
		for _, interrupted := range []bool{false, true} {
			if interrupted && o.name != "resume" {
				continue
			}
			kept := 0
			for at, fired := 1, true; fired; at++ {
				base := profiletest.Model()
				subject.MakeRoot(t, base, profiletest.Dir, profiletest.Blobs(0, 3)...)
				if interrupted {
					interrupt(t, base)
				}
				fsys := faultfs.New(base, profiletest.Dir)
				var failed faultfs.Call
				fault := fsys.Inject(faultfs.Fault{At: at, Err: syscall.EIO, Match: func(c faultfs.Call) bool { failed = c; return true }})
				err := o.open(fsys, profiletest.Dir)
				fired = fault.Fired() > 0
				for _, c := range fsys.Calls(faultfs.All) {
					if errors.Is(c.Err, syscall.EIO) {
						failed = c
					}
				}
				_, statErr := base.Stat(filepath.Join(profiletest.Dir, root.NodeLock))
				stays := statErr == nil
				if leaks := fsys.Leaks(); len(leaks) > 0 {
					t.Errorf("%s, %s fails: leaks %q", o.name, failed, leaks)
				}
				if !fired {
					if err != nil || stays {
						t.Errorf("%s: %v; a sentinel: %v", o.name, err, stays)
					}
					break
				}
				// Before the sentinel is ours, and after it is gone, nothing can keep it.
				want := failed.Op == faultfs.Close && failed.Path != root.Marker || failed.Op == faultfs.Remove && failed.Path == root.NodeLock
				if stays != want {
					t.Errorf("%s, %s fails: %v; a sentinel: %v", o.name, failed, err, stays)
				}
				if !stays {
					continue
				}
				kept++
				var known *store.Error
				if !errors.As(err, &known) || !strings.Contains(err.Error(), "sentinel stays") || !strings.Contains(known.Hint, "delete "+profiletest.Dir+"/"+root.NodeLock+" by hand") {
					t.Errorf("%s, %s fails: %v", o.name, failed, err)
				}
				// A sentinel that could not be made belongs to nothing that began.
				if compacts := o.name == "compact" || o.name == "resume"; compacts && failed.Path != root.NodeLock && !strings.Contains(known.Hint, "lace resume") {
					t.Errorf("%s, %s fails: hint %q", o.name, failed, known.Hint)
				}
			}
			if kept == 0 {
				t.Errorf("%s never kept the sentinel", o.name)
			}
		}
	}
}

// interrupt leaves a root with a compaction to resume, and no sentinel.
func interrupt(t *testing.T, base *crashfs.FS) {
	t.Helper()
	fsys := faultfs.New(base, profiletest.Dir)
	fsys.Inject(faultfs.Fault{Err: syscall.EIO, Match: faultfs.On(faultfs.Rename, root.RecordLog+vfs.TempSuffix), At: 1})
	opts := profile.CompactOptions{Open: profile.Options{FS: fsys}}
	_, err := node.Profile{}.Compact(t.Context(), profiletest.Dir, opts, func(context.Context, store.Backend) (*kept.Set, error) {
		set := kept.New(3)
		set.Add(2)
		return set, nil
	})
	if !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	names, err := base.ReadDir(profiletest.Dir)
	must(t, err)
	if slices.ContainsFunc(names, func(i vfs.Info) bool { return i.Name == root.NodeLock }) {
		t.Fatal("a run that failed, but closed everything, left its sentinel")
	}
}

// The sentinel excludes openers for as long as a compaction runs, and a record
// that was loaded before does not change.
func TestOpeningDuringCompaction(t *testing.T) {
	fsys, dir := subject.NewRoot(t, profiletest.Blobs(0, 3)...)
	s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 2}}})
	must(t, errors.Join(err, s.Close()))
	opts := profile.CompactOptions{Open: profile.Options{FS: fsys}}
	_, err = node.Profile{}.Compact(t.Context(), dir, opts, func(context.Context, store.Backend) (*kept.Set, error) {
		for _, o := range openers {
			busy(t, o.open(fsys, dir), dir)
		}
		set := kept.New(3)
		set.Add(3)
		return set, nil
	})
	must(t, err)
	if rec := got.(store.LoadedResult).Records[0]; string(rec.Bytes) != string(profiletest.Blob(1)) {
		t.Error("a record that outlived its store has changed")
	}
	all, err := subject.Contents(t, fsys, dir)
	if err != nil || !profiletest.Same(all, profiletest.Blobs(2, 3)) {
		t.Errorf("%d records, %v", len(all), err)
	}
}

func TestPositionMayAdvanceExternally(t *testing.T) {
	if node.PositionMayAdvanceExternally {
		t.Error("a Node root has one owner")
	}
}
