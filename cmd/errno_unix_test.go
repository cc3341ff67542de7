//go:build unix

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// errnoRoot makes a root with ten records of each of two Apps, and a policy
// that keeps those of one.
func errnoRoot(t *testing.T, dir string) (root, policy string) {
	t.Helper()
	root, policy = filepath.Join(dir, "root"), filepath.Join(dir, "keep.lace")
	if err := os.WriteFile(policy, []byte("SelectStoredRecord(R) :- Field(R,'App',_,'b').\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"a", "b"} {
		args := []string{"admit", root, "--create", "--capacity", "1MiB", "--wrap", "--group", "g", "--app", app}
		for i := range 10 {
			file := filepath.Join(dir, fmt.Sprintf("%s%d", app, i))
			if err := os.WriteFile(file, bytes.Repeat([]byte{byte(i)}, 300), 0o666); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		mustRun(t, args...)
	}
	return root, policy
}

// From any call on, the file system refuses every change in the ways it has: the
// exit code is the one of that, one line says what was tried, one what to do,
// with the resume where there is something to resume; and that works.
func TestRefusedChanges(t *testing.T) {
	for errno, code := range map[syscall.Errno]int{
		syscall.EROFS: exitFailed, syscall.EACCES: exitFailed, syscall.EPERM: exitFailed,
		syscall.ENOSPC: exitNoSpace, syscall.EDQUOT: exitNoSpace,
	} {
		t.Run(errno.Error(), func(t *testing.T) {
			t.Parallel()
			for at, refused := 1, true; refused; at++ {
				root, policy := errnoRoot(t, t.TempDir())
				refused = refusedAt(t, root, policy, errno, code, at)
				if !refused && at < 20 {
					t.Errorf("only %d calls change something", at)
				}
			}
		})
	}
}

// refusedAt refuses changes from one call on. It is false when the compaction
// ends before that call.
func refusedAt(t *testing.T, root, policy string, errno syscall.Errno, code, at int) bool {
	t.Helper()
	fsys := faultfs.New(osfs.New(), root)
	fault := fsys.Inject(faultfs.Fault{Err: errno, At: at, KeepFailing: true})
	got, _, errOut := runOn(fsys, "compact", root, "-p", policy)
	if fault.Fired() == 0 {
		if got != 0 {
			t.Fatalf("without a fault it exits %d: %s", got, errOut)
		}
		return false
	}
	if got == 0 && errno == syscall.EPERM { // of a hole: it is reported as not supported
		return true
	}
	left, err := compact.Look(osfs.New(), root)
	if err != nil {
		t.Fatal(err)
	}
	hint := errOut[strings.Index(errOut, "\n")+1:]
	switch {
	case got != code:
		t.Errorf("call %d: exit %d, want %d: %s", at, got, code, errOut)
	case strings.Count(errOut, "\n") != 2 || !strings.Contains(hint, vfs.Remedy(errno)):
		t.Errorf("call %d: want one line, and a hint to %s:\n%s", at, vfs.Remedy(errno), errOut)
	case left.State && !strings.Contains(hint, "lace resume "+root):
		t.Errorf("call %d: a state is left, and nobody says how to go on: %s", at, hint)
	}
	mustRun(t, "resume", root)
	mustRun(t, "compact", root, "-p", policy)
	if out := mustRun(t, "verify", root, "--json"); !strings.Contains(out, `"records": 10`) {
		t.Errorf("call %d: after the resume: %s", at, out)
	}
	return true
}
