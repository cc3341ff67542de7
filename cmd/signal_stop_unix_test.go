//go:build unix

package cmd_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/record"
)

// reloadRecords are so many that the half which stays is reloaded into the
// databases of an LMDB root in more than one batch.
const reloadRecords = 34_000

// A compaction of an LMDB root stops in each phase, before the next batch of its
// reload too, and what a resume makes of it is what an uninterrupted run does.
func TestStopInEveryPhaseOfLMDB(t *testing.T) {
	t.Parallel()
	if !lmdb.Built {
		t.Skip("this build is without cgo, which the LMDB profile needs")
	}
	dir := t.TempDir()
	root, policy := filepath.Join(dir, "root"), filepath.Join(dir, "half.lace")
	if err := fillRootOf(lmdb.Profile{}, root, 64<<20, &plain{count: reloadRecords, size: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(halfPolicy), 0o666); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	clone(t, root, work)
	runLace(t, 0, "compact", work, "-q", "-p", policy)
	want := exported(t, work)
	for i, p := range []struct{ phase, hint string }{
		{"sweep", "nothing was changed"},
		{"plan", "nothing was changed"},
		{"plan:2", "lace resume "},
		{"move", "lace resume "},
		{"reload", "lace resume "},
		{"reload:2", "lace resume "},
		{"release", "lace resume "},
	} {
		stop := stopSignals[i%len(stopSignals)]
		t.Run(stop.String()+" in "+p.phase, func(t *testing.T) {
			clone(t, root, work)
			code, out, errOut := runSignalled(t, "once", stop, p.phase, "compact", work, "-p", policy, "--json", "--progress", "json")
			if code != 75 || !strings.Contains(errOut, p.hint) {
				t.Fatalf("exit %d, want 75 and %q:\n%s%s", code, p.hint, out, errOut)
			}
			if strings.HasPrefix(p.phase, "reload") {
				if !strings.Contains(errOut, "was reloaded") {
					t.Errorf("it did not stop before a batch: %s", errOut)
				}
				if out := runLace(t, 0, "inspect", work, "--json"); !strings.Contains(out, `"step": "reload"`) {
					t.Errorf("inspect says %s", out)
				}
				runLace(t, 0, "verify", work, "-q")
			}
			runLace(t, 0, "resume", work, "-q")
			runLace(t, 0, "compact", work, "-q", "-p", policy)
			if exported(t, work) != want {
				t.Error("the root differs from that of an uninterrupted run")
			}
			runLace(t, 0, "verify", work, "-q", "--level", "seals", "--indexes")
		})
	}
}

// exported is the stream of all records of a root, whatever its profile.
func exported(t *testing.T, root string) string {
	t.Helper()
	return runLace(t, 0, "export", root, "-q")
}

// uninterrupted returns a root and a policy, a place to work at, and what an
// uninterrupted compaction makes of the root.
func uninterrupted(t *testing.T) (root, policy, work, want string) {
	t.Helper()
	root, policy = killRoot(t)
	work = filepath.Join(t.TempDir(), "work")
	clone(t, root, work)
	runLace(t, 0, "compact", work, "-q", "-p", policy)
	return root, policy, work, rootBytes(t, work)
}

// A request to stop that comes when several batches are moved leaves the rest
// to the resume, which goes on from there.
func TestStopAfterSeveralBatches(t *testing.T) {
	t.Parallel()
	root, policy, work, want := uninterrupted(t)
	for _, stop := range stopSignals {
		t.Run(stop.String(), func(t *testing.T) {
			s := stopAfterBatches(t, root, work, policy, stop)
			if !strings.Contains(s.err.String(), "lace resume "+work) {
				t.Errorf("it does not say how to go on: %s", &s.err)
			}
			resumesTo(t, work, want, []string{"compact", work, "-p", policy})
		})
	}
}

// stopAfterBatches stops a compaction once its state counts moved rows, in
// another run if it had ended before. The limit makes a batch take a while.
func stopAfterBatches(t *testing.T, root, work, policy string, stop syscall.Signal) *started {
	t.Helper()
	for range 50 {
		clone(t, root, work)
		s := start(t, "compact", work, "-p", policy, "--progress", "none", "--journal-size", killJournal, "--io-limit", "200MiB/s")
		moved := func() bool {
			state, err := os.ReadFile(filepath.Join(work, "compaction-state"))
			return err == nil && string(state) != "move 0\n"
		}
		if !s.await(moved) {
			continue
		}
		_ = s.Process.Signal(stop) // it may have ended
		switch code := s.code(); code {
		case 75:
			return s
		case 0:
		default:
			t.Fatalf("exit %d, want 75:\n%s", code, &s.err)
		}
	}
	t.Fatal("50 compactions ended before the signal reached them")
	return nil
}

// A command that waits for its input, which nobody writes, stops on request.
func TestStopWhileInputIsAwaited(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	if err := fillRoot(root, 1<<20, &plain{count: 4, size: 100}); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: who has taken this waits for what never comes.
	blob, err := record.BuildBlob(nil, bytes.Repeat([]byte("x"), 512<<10))
	if err != nil {
		t.Fatal(err)
	}
	unfinished := blob.Bytes()[:len(blob.Bytes())-1]
	comment := append([]byte("%"), bytes.Repeat([]byte(" "), 512<<10)...)
	for _, c := range []struct {
		input []byte
		hint  string
		args  []string
	}{
		{unfinished, "not admitted twice", []string{"admit", root}},
		{comment, "nothing was changed", []string{"sweep", root, "--dry-run", "-p", "-"}},
		{comment, "nothing was changed", []string{"compact", root, "-p", "-"}},
		{comment, "nothing was changed", []string{"policy", "check", "-"}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			before, err := listing(root)
			if err != nil {
				t.Fatal(err)
			}
			for _, stop := range stopSignals {
				s := &started{Cmd: exec.Command("lace", c.args...), ended: make(chan struct{})}
				s.Stdout, s.Stderr = &s.out, &s.err
				in, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				s.Stdin = in
				if err := s.begin(); err != nil {
					t.Fatal(err)
				}
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(out, bytes.NewReader(c.input)); err != nil {
					t.Fatalf("exit %d: %v: %s", s.code(), err, &s.err)
				}
				if err := s.Process.Signal(stop); err != nil {
					t.Fatal(err)
				}
				if code := s.code(); code != 75 || !strings.Contains(s.err.String(), c.hint) {
					t.Errorf("%v: exit %d, want 75 and %q: %s", stop, code, c.hint, &s.err)
				}
				if err := out.Close(); err != nil {
					t.Fatal(err)
				}
			}
			after, err := listing(root)
			if c.args[0] != "admit" && (err != nil || after != before) {
				t.Errorf("the root changed (%v):\n%s\n%s", err, before, after)
			}
		})
	}
	runLace(t, 0, "verify", root, "-q")
}

// What whoever started it has let a process ignore does not stop it, as nohup
// wants it of a terminal that is closed.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, policy := filepath.Join(dir, "root"), filepath.Join(dir, "half.lace")
	if err := fillRoot(root, 1<<20, &plain{count: 4, size: 100}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(halfPolicy), 0o666); err != nil {
		t.Fatal(err)
	}
	release := lockFile(t, filepath.Join(root, "lock"))
	s := &started{Cmd: exec.Command("sh", "-c", `trap "" HUP INT; exec lace compact "$@"`, "sh", root, "-p", policy, "--lock-wait", "1m"), ended: make(chan struct{})}
	s.Stdout, s.Stderr = &s.out, &s.err
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	if !s.await(func() bool { return strings.Contains(s.err.String(), "waiting for") }) {
		t.Fatalf("it did not wait for the lock: exit %d, %s", s.code(), &s.err)
	}
	for _, stop := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := s.Process.Signal(stop); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if code := s.code(); code != 0 {
		t.Errorf("exit %d, want 0: %s", code, &s.err)
	}
}

// A process that is suspended in the middle of a compaction keeps its locks:
// nobody takes over, and when it wakes up it goes on with a root that is as it
// left it.
func TestSuspendedOwnerKeepsTheRoot(t *testing.T) {
	t.Parallel()
	root, policy, work, want := uninterrupted(t)
	for range 50 {
		clone(t, root, work)
		s := start(t, "compact", work, "-p", policy, "--progress", "none", "--journal-size", killJournal, "--io-limit", "100MiB/s")
		if !s.await(func() bool { return inState(work) }) || s.Process.Signal(syscall.SIGSTOP) != nil {
			continue
		}
		defer s.Process.Kill() // it has ended, unless the test fails before
		for _, args := range [][]string{{"resume", work}, {"compact", work, "-p", policy}, {"verify", work}, {"export", work}} {
			busy := start(t, args...)
			if code := busy.code(); code != 11 || busy.out.String() != "" {
				t.Errorf("lace %s exits %d beside a suspended owner, want 11: %s", args[0], code, &busy.err)
			}
		}
		if out := runLace(t, 0, "inspect", work, "--json"); !strings.Contains(out, `"state": "busy"`) {
			t.Errorf("inspect says %s", out)
		}
		if err := s.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if code := s.code(); code != 0 {
			t.Fatalf("the suspended one exits %d: %s", code, &s.err)
		}
		if rootBytes(t, work) != want {
			t.Error("the root differs from that of an uninterrupted run")
		}
		runLace(t, 0, "verify", work, "-q", "--level", "seals")
		return
	}
	t.Error("50 compactions ended before they were suspended")
}
