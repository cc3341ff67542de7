//go:build linux

package fusefs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/pkg/store/vfs/vfstest"
	"github.com/lace-store/lace/scripts/crash/fusefs"
)

// serveVariable has the directory at which a process of this test serves.
const serveVariable = "LACE_FUSEFS_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveVariable); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve mounts a new model until stdin ends.
func serve(dir string) error {
	server, err := fusefs.Serve(dir, crashfs.New(crashfs.Options{}))
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, read := io.Copy(io.Discard, os.Stdin)
	// A mapping keeps the file system busy until the other process, which
	// collects it, has given it up.
	for range 1000 {
		if err = server.Unmount(); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.Join(read, err)
}

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
		mount(t, dir)
		return osfs.FS{}, dir
	}, vfstest.Options{})
}

// mount has a model served by a process of its own: whoever touches a mapping
// waits in the kernel for the server, and a process that is to collect garbage
// waits for all who touch one, its own server among those that wait.
func mount(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), serveVariable+"="+dir)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_, started := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		ended := make(chan error, 1)
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		go func() { ended <- c.Wait() }()
		for {
			runtime.GC() // finds mappings that nobody can reach any more
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the server: %v", err)
				}
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	if started != nil {
		t.Fatalf("the server did not mount: %v", started)
	}
}
