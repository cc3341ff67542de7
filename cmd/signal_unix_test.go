//go:build unix

package cmd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// killJournal is the least --journal-size: the roots below are larger, so that
// a move has several batches.
const killJournal = "33620814"

// halfPolicy keeps one half of a synthetic root.
const halfPolicy = "SelectStoredRecord(R) :- Field(R,'Half',_,'a').\n"

// started is a lace process and what it says.
type started struct {
	*exec.Cmd
	out, err bytes.Buffer
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.Command("lace", args...)}
	s.Dir = t.TempDir() // no configuration lies here
	s.Stdout, s.Stderr = &s.out, &s.err
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// code waits for the process and returns its exit code, -1 after a signal.
func (s *started) code(t *testing.T) int {
	t.Helper()
	if err := s.Wait(); err != nil && s.ProcessState == nil {
		t.Fatal(err)
	}
	return s.ProcessState.ExitCode()
}

func runLace(t *testing.T, want int, args ...string) string {
	t.Helper()
	s := start(t, args...)
	if got := s.code(t); got != want {
		t.Fatalf("lace %s exits %d, want %d:\n%s%s", strings.Join(args, " "), got, want, &s.out, &s.err)
	}
	return s.out.String()
}

// killRoot makes a root of some tens of MiB and a policy that keeps a half.
func killRoot(t *testing.T) (root, policy string) {
	t.Helper()
	dir := t.TempDir()
	root, policy = filepath.Join(dir, "root"), filepath.Join(dir, "half.lace")
	src, err := gen.NewSynthetic(gen.SyntheticOptions{Records: 160, MinSize: 200 << 10, MaxSize: 1 << 20, Seed: 11})
	if err != nil {
		t.Fatal(err)
	}
	if err := fillRoot(root, 256<<20, src); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(halfPolicy), 0o666); err != nil {
		t.Fatal(err)
	}
	return root, policy
}

// clone copies a root with its holes.
func clone(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	// Not every cp knows how to keep holes; a copy without them is as good.
	args := []string{"-R", from, to}
	if out, err := exec.Command("cp", append([]string{"--sparse=always"}, args...)...).CombinedOutput(); err == nil {
		return
	} else if out2, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s%s", err, out, out2)
	}
}

// randomOf is seeded by the clock; the seed is printed, so that a failure can
// be repeated with LACE_TEST_SEED.
func randomOf(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("LACE_TEST_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LACE_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// killing compacts copies of a root until it was killed so many times, resumes
// each, and wants the bytes of an uninterrupted run.
func killing(t *testing.T, root string, kills int, policies ...string) {
	t.Helper()
	random := randomOf(t)
	compact := func(dir string) []string {
		args := []string{"compact", dir, "-q", "--max-removed", "100%", "--journal-size", killJournal}
		for _, p := range policies {
			args = append(args, "-p", p)
		}
		return args
	}
	work := filepath.Join(t.TempDir(), "root")
	clone(t, root, work)
	begin := time.Now()
	runLace(t, 0, compact(work)...)
	whole := time.Since(begin)
	want, err := recordsBytes(work)
	if err != nil {
		t.Fatal(err)
	}
	killed, inside := 0, 0
	for killed < kills {
		clone(t, root, work)
		for {
			s := start(t, compact(work)...)
			delay := whole
			if killed%2 == 1 {
				// Aim at the move: opening and sweeping may take most of a run.
				awaitState(work, whole)
				delay = whole / 4
			}
			time.Sleep(time.Duration(random.Int64N(int64(delay))))
			_ = s.Process.Kill() // it may have ended
			code := s.code(t)
			if code == 0 {
				break
			}
			if code != -1 {
				t.Fatalf("after %d kills compact exits %d: %s", killed, code, &s.err)
			}
			killed++
			if _, err := os.Stat(filepath.Join(work, "compaction-state")); err == nil {
				inside++
				runLace(t, 0, "verify", work, "-q")
			}
			if killed == kills {
				break
			}
		}
		// A run that resumes does not look at the policies: the last one does.
		runLace(t, 0, "resume", work, "-q")
		runLace(t, 0, compact(work)...)
		got, err := recordsBytes(work)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("after %d kills the root differs from that of an uninterrupted run", killed)
		}
	}
	t.Logf("%d of %d kills between steps B and F", inside, killed)
	if inside == 0 {
		t.Errorf("no kill hit the move")
	}
	runLace(t, 0, "verify", work, "-q", "--level", "seals")
}

// awaitState waits until a compaction of the root is behind step B, at most
// for some time.
func awaitState(root string, most time.Duration) {
	for deadline := time.Now().Add(most); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(root, "compaction-state")); err == nil {
			return
		}
	}
}

// A compaction that is killed at random moments ends byte-identical.
func TestKilledCompactionEndsTheSame(t *testing.T) {
	t.Parallel()
	kills := 20
	if testing.Short() || raceDetector { // hashing takes ten times as long
		kills = 4
	}
	root, policy := killRoot(t)
	killing(t, root, kills, policy)
}

// The same on the history of a large repository; `make` has a target for it.
func TestKilledCompactionOfHistory(t *testing.T) {
	if os.Getenv("LACE_TEST_LONG") == "" {
		t.Skip("LACE_TEST_LONG is not set: skipping the kills on the restic history")
	}
	root := filepath.Join(t.TempDir(), "restic")
	historyRoot(t, "restic", root)
	killing(t, root, 20, "../examples/newest-three.lace", "../examples/tagged-with-history.lace")
}

// A stop on request exits 75, says how to go on, and leaves a root that can be
// resumed; before step A nothing has changed.
func TestStopOnRequest(t *testing.T) {
	t.Parallel()
	root, policy := killRoot(t)
	work := filepath.Join(t.TempDir(), "root")
	clone(t, root, work)
	runLace(t, 0, "compact", work, "-q", "-p", policy)
	want, err := recordsBytes(work)
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(stop.String(), func(t *testing.T) {
			clone(t, root, work)
			s := start(t, "compact", work, "-p", policy, "--json", "--progress", "none", "--journal-size", killJournal)
			state := filepath.Join(work, "compaction-state")
			for range 10_000 {
				if _, err := os.Stat(state); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if err := s.Process.Signal(stop); err != nil {
				t.Fatal(err)
			}
			if code := s.code(t); code != 75 {
				t.Fatalf("exit %d, want 75:\n%s%s", code, &s.out, &s.err)
			}
			if !strings.Contains(s.err.String(), "lace resume "+work) || !strings.Contains(s.out.String(), `"outcome": "stopped"`) {
				t.Errorf("it says:\n%s%s", &s.out, &s.err)
			}
			if out := runLace(t, 0, "inspect", work, "--json"); !strings.Contains(out, `"state": "interrupted"`) {
				t.Errorf("inspect says %s", out)
			}
			runLace(t, 0, "resume", work, "-q")
			if got, err := recordsBytes(work); err != nil || got != want {
				t.Errorf("the resumed root differs (%v)", err)
			}
		})
	}
}

// A stop while a lock is waited for, thus before anything changed.
func TestStopBeforeAnyChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := fillRoot(root, 1<<20, &plain{count: 4, size: 100}); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(dir, "half.lace")
	if err := os.WriteFile(policy, []byte(halfPolicy), 0o666); err != nil {
		t.Fatal(err)
	}
	release := lockFile(t, filepath.Join(root, "lock"))
	before, err := listing(root)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, "compact", root, "-p", policy, "--lock-wait", "1m")
	time.Sleep(500 * time.Millisecond)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.code(t); code != 75 {
		t.Errorf("exit %d, want 75", code)
	}
	if !strings.Contains(s.err.String(), "nothing was changed") {
		t.Errorf("it says %q, not that nothing was changed", &s.err)
	}
	release()
	if after, err := listing(root); err != nil || after != before {
		t.Errorf("the root changed (%v):\n%s\n%s", err, before, after)
	}
}

// That nobody reads stdout any more ends no compaction half-way and turns no
// verdict into another one.
func TestStdoutClosedEarly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, policy := filepath.Join(dir, "root"), filepath.Join(dir, "half.lace")
	if err := fillRoot(root, 1<<20, &plain{count: 10, size: 100}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(halfPolicy), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{17, []string{"sweep", root, "--dry-run", "-p", policy, "--min-released", "1GiB"}},
		{17, []string{"sweep", root, "--dry-run", "-p", policy, "--min-released", "1GiB", "--json"}},
		{15, []string{"compact", root, "-p", policy, "--max-removed", "1", "--json"}},
		{0, []string{"compact", root, "-p", policy, "--json"}},
		{0, []string{"compact", root, "-p", policy}},
		{0, []string{"inspect", root, "#1", "--bytes"}},
		{2, []string{"--bogus", "--json"}},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		command := exec.Command("lace", c.args...)
		command.Stdout = w
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		_ = command.Run() // its code is what counts
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := command.ProcessState.ExitCode(); got != c.code {
			t.Errorf("lace %s exits %d with stdout closed, want %d", strings.Join(c.args, " "), got, c.code)
		}
	}
	if out := runLace(t, 0, "verify", root, "--json"); !strings.Contains(out, `"records": 5`) {
		t.Errorf("the compaction did not end: %s", out)
	}
}
