package osfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

func TestParseLocks(t *testing.T) {
	const locks = `1: FLOCK  ADVISORY  WRITE 1234 08:0a:5678 0 EOF
1: -> FLOCK  ADVISORY  WRITE 77 08:0a:5678 0 EOF
2: POSIX  ADVISORY  WRITE 88 08:0a:5678 0 EOF
3: FLOCK  ADVISORY  READ 1235 08:0a:5678 0 EOF
4: FLOCK  ADVISORY  WRITE 0 08:0a:5678 0 EOF
5: FLOCK  ADVISORY  WRITE 99 08:0a:567 0 EOF
6: FLOCK  ADVISORY  WRITE 99 08:0b:5678 0 EOF
7: FLOCK
`
	file := vfs.FileID{Device: unix.Mkdev(8, 10), Inode: 5678}
	want := []vfs.Holder{{PID: 1234}, {PID: 1235}}
	if got := parseLocks(strings.NewReader(locks), file); !slices.Equal(got, want) {
		t.Errorf("parseLocks = %v, want %v", got, want)
	}
}

func TestLockHoldersNamesThisProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := New().OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := vfs.LockHolders(New(), path); len(got) != 0 {
		t.Errorf("nobody holds it, and the answer is %v", got)
	}
	if err := f.TryLock(vfs.ExclusiveLock); err != nil {
		t.Fatal(err)
	}
	got := vfs.LockHolders(New(), path)
	if len(got) == 0 {
		t.Skip("this system does not tell (another process namespace, or a device without a number)")
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	if got[0].PID != os.Getpid() || got[0].Command != strings.TrimSpace(string(comm)) {
		t.Errorf("LockHolders = %+v, want process %d, %s", got, os.Getpid(), comm)
	}
}
