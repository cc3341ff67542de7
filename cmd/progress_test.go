package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// slowFS takes longer than a line is waited for, by a clock of its own, for each
// call that opens a file or changes a directory; meanwhile the display beats.
type slowFS struct {
	vfs.FS
	beats chan time.Time
	mu    sync.Mutex
	at    time.Time
}

func newSlowFS() *slowFS {
	return &slowFS{FS: osfs.New(), beats: make(chan time.Time), at: time.Unix(0, 0)}
}

func (f *slowFS) Unwrap() vfs.FS { return f.FS }

func (f *slowFS) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *slowFS) pass() {
	f.mu.Lock()
	f.at = f.at.Add(31 * time.Second)
	f.mu.Unlock()
	for range 2 { // when the second one is taken, the first one was dealt with
		f.beats <- f.now()
	}
}

func (f *slowFS) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f.pass()
	return f.FS.OpenFile(path, mode)
}

func (f *slowFS) Remove(path string) error {
	f.pass()
	return f.FS.Remove(path)
}

// run runs lace on the file system, by its clock.
func (f *slowFS) run(t *testing.T, args ...string) (errOut string) {
	t.Helper()
	var out, e bytes.Buffer
	s := &session{streams: ui.Streams{In: strings.NewReader(""), Out: &out, Err: &e}, fs: f, now: f.now}
	if code := s.main(args, f.beats); code != 0 {
		t.Fatalf("lace %s exits %d:\n%s%s", strings.Join(args, " "), code, &out, &e)
	}
	return e.String()
}

// slowRoot is a root of which a policy keeps the second half.
func slowRoot(t *testing.T, f *slowFS) (root, policy string) {
	t.Helper()
	dir := t.TempDir()
	root, policy = filepath.Join(dir, "root"), filepath.Join(dir, "keep.lace")
	if err := os.WriteFile(policy, []byte("SelectStoredRecord(R) :- Field(R,'Group',_,'keep').\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"drop", "keep"} {
		file := filepath.Join(dir, group)
		if err := os.WriteFile(file, []byte(group), 0o666); err != nil {
			t.Fatal(err)
		}
		f.run(t, "admit", root, file, "--wrap", "--group", group, "--app", "a", "--create", "--capacity", "1MiB", "-q")
	}
	return root, policy
}

// Every phase of a run says that it goes on, and leaves its line: those that
// count nothing for long too, whatever the profile does in them.
func TestEveryPhaseIsToldAndBeats(t *testing.T) {
	f := newSlowFS()
	root, policy := slowRoot(t, f)
	text := f.run(t, "compact", root, "-p", policy, "--verify", "--progress", "plain")
	var ended []string
	goesOn := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.ContainsAny(line, "\r\x1b") {
			t.Errorf("%q has controls", line)
		}
		words := strings.FieldsFunc(strings.TrimPrefix(line, "lace: "), func(r rune) bool { return r == ' ' || r == ':' })
		if strings.HasSuffix(line, " so far\n") {
			goesOn[words[0]] = true
		} else {
			ended = append(ended, words[0])
		}
	}
	if want := []string{"open", "sweep", "count", "plan", "move", "publish", "release", "open", "verify"}; !slices.Equal(ended, want) {
		t.Errorf("lines of %v, want %v:\n%s", ended, want, text)
	}
	for _, phase := range []string{"open", "plan", "move", "publish", "release"} {
		if !goesOn[phase] {
			t.Errorf("%s does not say that it goes on:\n%s", phase, text)
		}
	}
}

// The same in events: a phase is announced before anything of it is counted.
func TestEveryPhaseIsAnnounced(t *testing.T) {
	f := newSlowFS()
	root, policy := slowRoot(t, f)
	var announced []string
	last := ""
	text := f.run(t, "compact", root, "-p", policy, "--progress", "json")
	for line := range strings.Lines(text) {
		var e struct {
			Phase, Unit string
			Elapsed     float64 `json:"elapsed_s"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Phase != last && (e.Unit != "" || e.Elapsed != 0) {
			t.Errorf("%s begins with %s", e.Phase, line)
		}
		if e.Phase != last {
			announced = append(announced, e.Phase)
		}
		last = e.Phase
	}
	if want := []string{"open", "sweep", "count", "plan", "move", "publish", "release"}; !slices.Equal(announced, want) {
		t.Errorf("%v were announced, want %v", announced, want)
	}
}

// Under -q nothing is said, however long anything takes.
func TestQuietRunIsSilent(t *testing.T) {
	f := newSlowFS()
	root, policy := slowRoot(t, f)
	for _, progress := range ui.ProgressModes() {
		for _, command := range [][]string{{"verify", root}, {"inspect", root}, {"sweep", root, "-p", policy, "--dry-run"}} {
			if text := f.run(t, append(command, "-q", "--progress", progress)...); text != "" {
				t.Errorf("%s -q --progress %s says %q", command[0], progress, text)
			}
		}
	}
}
