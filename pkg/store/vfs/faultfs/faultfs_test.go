package faultfs_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/pkg/store/vfs/vfstest"
)

func TestConformance(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		dir := t.TempDir()
		return faultfs.New(osfs.New(), dir), dir
	}, vfstest.Options{})
}

func newFS(t *testing.T) (*faultfs.FS, string) {
	dir := t.TempDir()
	return faultfs.New(osfs.New(), dir), dir
}

func open(t *testing.T, fsys vfs.FS, path string, mode vfs.Mode) vfs.File {
	t.Helper()
	f, err := fsys.OpenFile(path, mode)
	must(t, err)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTranscript(t *testing.T) {
	fsys, dir := newFS(t)
	path := filepath.Join(dir, "a")
	f := open(t, fsys, path, vfs.ReadWrite|vfs.Create)
	for i := range 3 {
		_, err := f.WriteAt([]byte("12345"), int64(5*i))
		must(t, err)
	}
	_, err := f.WriteAt([]byte("x"), 3)
	must(t, err)
	must(t, f.TryLock(vfs.ExclusiveLock))
	must(t, f.Truncate(8))
	must(t, f.Sync())
	_, err = f.ReadAt(make([]byte, 4), 0)
	must(t, err)
	must(t, f.Close())
	open(t, fsys, path, vfs.ReadWrite|vfs.Create).Close()
	must(t, fsys.Mkdir(filepath.Join(dir, "d")))
	must(t, fsys.Rename(path, filepath.Join(dir, "d", "b")))
	must(t, fsys.SyncDir(dir))
	if err := fsys.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove: %v", err)
	}
	const all = `create a
write a [0, 15)
write a [3, 4)
lock a exclusive
truncate a 8
sync a
read a [0, 4)
close a
open a read-write
close a
mkdir d
rename a d/b
syncdir .
remove a: file does not exist
`
	if got := fsys.Transcript(faultfs.All); got != all {
		t.Errorf("transcript:\n%s\nwant:\n%s", got, all)
	}
	if n := fsys.Count(faultfs.On(faultfs.Write, "a")); n != 4 {
		t.Errorf("%d writes counted, want 4", n)
	}
	var changing []string
	for line := range strings.Lines(all) {
		switch op, _, _ := strings.Cut(line, " "); op {
		case "lock", "read", "close", "open":
		default:
			changing = append(changing, line)
		}
	}
	if got := fsys.Transcript(faultfs.Changing); got != strings.Join(changing, "") {
		t.Errorf("changing calls:\n%s", got)
	}
	fsys.Forget()
	if got := fsys.Transcript(faultfs.All); got != "" {
		t.Errorf("after Forget:\n%s", got)
	}
}

func TestKthCallFails(t *testing.T) {
	fsys, dir := newFS(t)
	f := open(t, fsys, filepath.Join(dir, "a"), vfs.ReadWrite|vfs.Create)
	defer f.Close()
	fault := fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Write, "a"), At: 2, Err: syscall.ENOSPC})
	for i, want := range []error{nil, syscall.ENOSPC, nil} {
		n, err := f.WriteAt([]byte("x"), int64(i))
		if !errors.Is(err, want) || (n == 1) != (want == nil) {
			t.Errorf("write %d = %d, %v, want %v", i, n, err, want)
		}
	}
	if fault.Fired() != 1 {
		t.Errorf("fired %d times", fault.Fired())
	}
	if got, want := fsys.Transcript(faultfs.On(faultfs.Write, "a")),
		"write a [0, 2): no space left on device\nwrite a [2, 3)\n"; got != want {
		t.Errorf("transcript %q, want %q", got, want)
	}
}

func TestKeepFailingUntilRemoved(t *testing.T) {
	fsys, dir := newFS(t)
	fault := fsys.Inject(faultfs.Fault{At: 2, Err: syscall.EROFS, KeepFailing: true})
	must(t, fsys.Mkdir(filepath.Join(dir, "a")))
	for range 3 {
		if err := fsys.Mkdir(filepath.Join(dir, "b")); !errors.Is(err, syscall.EROFS) {
			t.Errorf("mkdir: %v", err)
		}
	}
	if _, err := fsys.ReadDir(dir); err != nil {
		t.Errorf("a call that changes nothing failed: %v", err)
	}
	fault.Remove()
	must(t, fsys.Mkdir(filepath.Join(dir, "b")))
	if fault.Fired() != 3 {
		t.Errorf("fired %d times, want 3", fault.Fired())
	}
}

func TestFaultBeforeAndAfterTheCall(t *testing.T) {
	for _, after := range []bool{false, true} {
		fsys, dir := newFS(t)
		path := filepath.Join(dir, "a")
		fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Mkdir, "a"), Err: syscall.EIO, After: after})
		if err := fsys.Mkdir(path); !errors.Is(err, syscall.EIO) {
			t.Errorf("mkdir: %v", err)
		}
		if _, err := fsys.Stat(path); (err == nil) != after {
			t.Errorf("After = %v, and then Stat says %v", after, err)
		}
	}
}

func TestShortTransfers(t *testing.T) {
	fsys, dir := newFS(t)
	path := filepath.Join(dir, "a")
	f := open(t, fsys, path, vfs.ReadWrite|vfs.Create)
	defer f.Close()
	fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Write, "a"), Err: syscall.EDQUOT, Short: 3})
	if n, err := f.WriteAt([]byte("0123456789"), 0); n != 3 || !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("WriteAt = %d, %v", n, err)
	}
	if info, err := fsys.Stat(path); err != nil || info.Size != 3 {
		t.Errorf("after a short write: %+v, %v", info, err)
	}
	fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Read, "a"), Err: syscall.EIO, Short: 1})
	b := make([]byte, 3)
	if n, err := f.ReadAt(b, 0); n != 1 || b[0] != '0' || !errors.Is(err, syscall.EIO) {
		t.Errorf("ReadAt = %d, %v, %q", n, err, b)
	}
}

func TestLeaks(t *testing.T) {
	fsys, dir := newFS(t)
	path := filepath.Join(dir, "a")
	f, g := open(t, fsys, path, vfs.ReadWrite|vfs.Create), open(t, fsys, path, vfs.ReadOnly)
	must(t, f.Truncate(10))
	must(t, g.TryLock(vfs.Shared))
	m, err := f.Map(10, g)
	must(t, err)
	want := []string{"mapped a", "open a", "open a with its shared lock"}
	if got := fsys.Leaks(); !slices.Equal(got, want) {
		t.Errorf("Leaks = %q, want %q", got, want)
	}
	if fsys.OpenHandles() != 2 || fsys.HeldLocks() != 1 || fsys.LiveMappings() != 1 {
		t.Errorf("%d handles, %d locks, %d mappings", fsys.OpenHandles(), fsys.HeldLocks(), fsys.LiveMappings())
	}
	m.Release()
	<-m.Released()
	if fsys.OpenHandles() != 1 || fsys.HeldLocks() != 0 || fsys.LiveMappings() != 0 {
		t.Errorf("after the release: %d handles, %d locks, %d mappings",
			fsys.OpenHandles(), fsys.HeldLocks(), fsys.LiveMappings())
	}
	fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Close, "a"), Err: syscall.EIO})
	if err := f.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("close: %v", err)
	}
	if got := fsys.Leaks(); len(got) != 0 {
		t.Errorf("a failed close leaks %q", got)
	}
}

func TestFailedOpenLeaksNothing(t *testing.T) {
	for _, after := range []bool{false, true} {
		fsys, dir := newFS(t)
		fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Create, "a"), Err: syscall.EMFILE, After: after})
		if _, err := fsys.OpenFile(filepath.Join(dir, "a"), vfs.ReadWrite|vfs.Create); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("open: %v", err)
		}
		if got := fsys.Leaks(); len(got) != 0 {
			t.Errorf("leaks %q", got)
		}
	}
}

// A note stands in the transcript among the calls, and can be failed like one.
func TestNote(t *testing.T) {
	fsys, dir := newFS(t)
	must(t, fsys.SyncDir(dir))
	must(t, fsys.Note(faultfs.Commit, filepath.Join(dir, "data.mdb")))
	fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Commit, "data.mdb"), Err: syscall.EIO})
	if err := fsys.Note(faultfs.Commit, filepath.Join(dir, "data.mdb")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failed note: %v", err)
	}
	if got, want := fsys.Transcript(faultfs.Changing), "syncdir .\ncommit data.mdb\ncommit data.mdb: input/output error\n"; got != want {
		t.Errorf("transcript %q, want %q", got, want)
	}
}
