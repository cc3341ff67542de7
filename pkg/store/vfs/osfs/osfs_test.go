//go:build linux || darwin || freebsd || windows

package osfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/pkg/store/vfs/vfstest"
)

func TestConformance(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		return osfs.New(), t.TempDir()
	}, vfstest.Options{NoPunch: !canPunch(t)})
}

// canPunch asks the file system of the temporary directory.
func canPunch(t *testing.T) bool {
	f, err := osfs.New().OpenFile(filepath.Join(t.TempDir(), "probe"), vfs.ReadWrite|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.SetSparse(), f.Truncate(1<<20)); err != nil {
		t.Fatal(err)
	}
	err = f.PunchHole(0, 1<<20)
	if err != nil && !errors.Is(err, vfs.ErrUnsupported) {
		t.Fatal(err)
	}
	return err == nil
}

// The other file systems that a Linux machine mounts by itself.
func TestConformanceOnSharedMemory(t *testing.T) {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		t.Skipf("no %s here: %v", shm, err)
	}
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		dir, err := os.MkdirTemp(shm, "osfs")
		if err != nil {
			t.Skipf("%s cannot be written: %v", shm, err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return osfs.New(), dir
	}, vfstest.Options{})
}

func TestSpaceNamesTheFileSystem(t *testing.T) {
	space, err := osfs.New().Space(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", space)
	if space.FreeBytes < 0 || space.BlockSize&(space.BlockSize-1) != 0 {
		t.Errorf("Space = %+v", space)
	}
}
