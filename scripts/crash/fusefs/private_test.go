//go:build linux

package fusefs

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// TestDeviceIsNotInherited starts a process beside a mount and looks at what it
// has open.
func TestDeviceIsNotInherited(t *testing.T) {
	if _, err := os.Stat(Device); err != nil || os.Getuid() != 0 {
		t.Skipf("mounting needs %s and root", Device)
	}
	server, err := Serve(t.TempDir(), crashfs.New(crashfs.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	}()
	out, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
	if err != nil || strings.Contains(string(out), Device) {
		t.Errorf("a child has (%v):\n%s", err, out)
	}
}
