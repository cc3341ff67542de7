//go:build linux && amd64

package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shell runs a script in a directory and returns how it ended, its calls and
// what it said.
func shell(t *testing.T, dir, script string, decide func(Call) Action) (Result, []string, string) {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	var seen []string
	r, err := Run(Command{
		Args: []string{"/bin/sh", "-c", script}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: said, Stderr: said, Watch: dir,
		Decide: func(c Call) Action {
			if c.Mutates {
				seen = append(seen, c.String())
			}
			if decide == nil {
				return Action{}
			}
			return decide(c)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	return r, seen, string(text)
}

func TestCallsAreShown(t *testing.T) {
	dir := t.TempDir()
	r, seen, said := shell(t, dir, "echo hello >a; exec mv a b", nil)
	if r.Code != 0 || r.Calls != len(seen) {
		t.Fatalf("%+v, %q, %s", r, seen, said)
	}
	all := strings.Join(seen, "\n")
	for _, want := range []string{"openat a", "write a 0+6", " a to b"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

func TestActions(t *testing.T) {
	write := func(a Action) func(Call) Action {
		done := false
		return func(c Call) Action {
			if !c.IsWrite() || done {
				return Action{}
			}
			done = true
			return a
		}
	}
	for _, c := range []struct {
		name   string
		action Action
		code   int
		left   string
	}{
		{"nothing", Action{}, 0, "hello\n"},
		{"error", Action{Errno: unix.ENOSPC}, 1, ""},
		{"skip", Action{Skip: true}, 0, ""},
		{"killed before", Action{Kill: true}, -1, ""},
		{"killed behind", Action{KillAfter: true}, -1, "hello\n"},
		{"killed within", Action{Short: 3, KillAfter: true}, -1, "hel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r, seen, said := shell(t, dir, "printf 'hello\\n' >a || exit 1", write(c.action))
			if r.Code != c.code || r.Killed != (c.code < 0) {
				t.Errorf("%+v, want code %d: %q, %s", r, c.code, seen, said)
			}
			if left, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(left) != c.left {
				t.Errorf("it left %q, %v", left, err)
			}
		})
	}
}

// A flag that is taken away lets an open follow a link.
func TestDropFlags(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	script := "exec dd if=/dev/zero of=link bs=1 count=1 oflag=nofollow conv=notrunc"
	if r, _, _ := shell(t, dir, script, nil); r.Code == 0 {
		t.Fatal("dd follows the link by itself")
	}
	r, seen, _ := shell(t, dir, script, func(Call) Action { return Action{DropFlags: unix.O_NOFOLLOW} })
	if r.Code != 0 {
		t.Errorf("%+v: %q", r, seen)
	}
}
