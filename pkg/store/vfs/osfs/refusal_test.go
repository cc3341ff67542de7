//go:build linux || darwin || freebsd

package osfs

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Anything but a regular file is refused, at once, and is not changed.
func TestOpenRefusesIrregular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("target"), []byte("keep"), 0o600))
	must(t, os.Symlink("target", at("link")))
	must(t, os.Symlink("absent", at("dangling")))
	must(t, os.Mkdir(at("dir"), 0o700))
	must(t, unix.Mkfifo(at("fifo"), 0o600))
	listener, err := net.Listen("unix", at("socket"))
	must(t, err)
	defer listener.Close()

	for _, path := range []string{at("link"), at("dangling"), at("dir"), at("fifo"), at("socket"), os.DevNull} {
		for _, mode := range []vfs.Mode{vfs.ReadOnly, vfs.ReadWrite, vfs.ReadWrite | vfs.Create} {
			done := make(chan error, 1)
			go func() {
				f, err := New().OpenFile(path, mode)
				if err == nil {
					f.Close()
				}
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, vfs.ErrNotRegular) {
					t.Errorf("%s, mode %d: %v, want ErrNotRegular", path, mode, err)
				}
			case <-time.After(5 * time.Second):
				t.Fatalf("%s, mode %d: the open blocks", path, mode)
			}
		}
	}
	if _, err := os.Lstat(at("absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was made through a dangling link")
	}
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(at("dir"), 0o700))
	must(t, os.Symlink("dir", at("link")))
	info, err := New().Stat(at("link"))
	must(t, err)
	if info.Type != vfs.Symlink || info.Name != "link" {
		t.Errorf("Stat = %+v, want the link itself", info)
	}
	if _, err := New().ReadDir(at("link")); err == nil {
		t.Error("ReadDir followed a link")
	}
	if err := New().SyncDir(at("link")); err == nil {
		t.Error("SyncDir followed a link")
	}
	must(t, New().Remove(at("link")))
	if _, err := os.Stat(at("dir")); err != nil {
		t.Errorf("Remove of a link took its target: %v", err)
	}
}

func TestRemoveTreeStaysInside(t *testing.T) {
	dir := t.TempDir()
	at := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	must(t, os.MkdirAll(at("tree", "sub"), 0o700))
	must(t, os.Mkdir(at("outside"), 0o700))
	must(t, os.WriteFile(at("outside", "precious"), nil, 0o600))
	must(t, os.Symlink(at("outside"), at("tree", "link")))
	must(t, os.Symlink(at("outside", "precious"), at("tree", "sub", "link")))
	must(t, vfs.RemoveTree(New(), at("tree")))
	if _, err := os.Lstat(at("tree")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tree is still there: %v", err)
	}
	if _, err := os.Stat(at("outside", "precious")); err != nil {
		t.Errorf("a removal followed a link: %v", err)
	}
}

// A lock belongs to the open file. A duplicate of the descriptor, such as a
// forked child has, must not prolong it past Close (seed 002).
func TestCloseUnlocksDespiteDuplicate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := New().OpenFile(path, vfs.ReadWrite|vfs.Create)
	must(t, err)
	must(t, first.TryLock(vfs.ExclusiveLock))
	var duplicate int
	must(t, first.(*file).control("dup", func(handle uintptr) (err error) {
		duplicate, err = unix.FcntlInt(handle, unix.F_DUPFD_CLOEXEC, 0)
		return err
	}))
	defer unix.Close(duplicate)
	must(t, first.Close())
	second, err := New().OpenFile(path, vfs.ReadWrite)
	must(t, err)
	defer second.Close()
	must(t, second.TryLock(vfs.ExclusiveLock))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
