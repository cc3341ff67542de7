//go:build linux

package fusefs_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/pkg/store/vfs/vfstest"
	"github.com/lace-store/lace/scripts/crash/fusefs"
)

// TestConformance puts the calls of the kernel on a mounted model to the same
// suite as the model itself.
func TestConformance(t *testing.T) {
	if _, err := os.Stat(fusefs.Device); err != nil || os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mounting needs root and %s: %v", fusefs.Device, err)
		}
		t.Skipf("mounting needs root and %s: %v", fusefs.Device, err)
	}
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		dir := t.TempDir()
		server, err := fusefs.Serve(dir, crashfs.New(crashfs.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unmount(server); err != nil {
				t.Error(err)
			}
		})
		return osfs.FS{}, dir
	}, vfstest.Options{})
}

// unmount gives the garbage collector the time to find mappings that nobody
// can reach any more: they keep a file system busy.
func unmount(server *fuse.Server) (err error) {
	for range 100 {
		if err = server.Unmount(); err == nil {
			return nil
		}
		runtime.GC()
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
