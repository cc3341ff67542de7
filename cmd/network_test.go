package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// remote is a file system that says it is one of another machine.
type remote struct{ vfs.FS }

func (r remote) Space(path string) (vfs.Space, error) {
	space, err := r.FS.Space(path)
	space.Network, space.FSType = true, "nfs"
	return space, err
}

// On a network file system locks may be weaker than they look: every command
// refuses such a root before it looks at a file of it, unless it is told that
// nothing else can have it open.
func TestNetworkFileSystemIsRefused(t *testing.T) {
	dir := t.TempDir()
	root, policy := filepath.Join(dir, "root"), filepath.Join(dir, "all.lace")
	if err := os.WriteFile(policy, []byte("SelectStoredRecord(R) :- true.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "admit", root, "--create", "--capacity", "1MiB", "--wrap", "--group", "g", "--app", "a", policy)
	for _, args := range [][]string{
		{"compact", root, "-p", policy}, {"resume", root}, {"sweep", root, "-p", policy, "--dry-run"},
		{"verify", root}, {"inspect", root}, {"inspect", root, "#1"},
		{"admit", root, "--wrap", "--group", "g", "--app", "a", policy},
		{"admit", filepath.Join(dir, "new"), "--create", "--wrap", "--group", "g", "--app", "a", policy},
		{"export", root, "--output", filepath.Join(dir, strings.Repeat("x", 8))},
	} {
		calls := faultfs.New(remote{osfs.New()}, dir)
		code, out, errOut := runOn(calls, args...)
		if code != exitNotRoot || out != "" || !strings.Contains(errOut, "nfs") || !strings.Contains(errOut, "--allow-network-fs") {
			t.Errorf("lace %s exits %d: %s%s", strings.Join(args, " "), code, out, errOut)
		}
		if n := calls.Count(func(c faultfs.Call) bool { return c.Op != faultfs.Space }); n > 0 {
			t.Errorf("lace %s looks at files first:\n%s", strings.Join(args, " "), calls.Transcript(faultfs.All))
		}
		if args[1] != root {
			continue // made in the right place only, which this is not
		}
		if code, _, errOut := runOn(remote{osfs.New()}, append(args, "--allow-network-fs")...); code != 0 {
			t.Errorf("lace %s --allow-network-fs exits %d: %s", strings.Join(args, " "), code, errOut)
		}
	}
}
