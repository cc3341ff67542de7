//go:build unix

package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// killJournal is the least --journal-size: the roots below are larger, so that
// a move has several batches.
const killJournal = "33620814"

// spoken is what a process says, readable while it still speaks.
type spoken struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// started is a lace process and what it says.
type started struct {
	*exec.Cmd
	out, err spoken
	ended    chan struct{} // closed once the process is waited for
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.Command("lace", args...), ended: make(chan struct{})}
	s.Dir = t.TempDir() // no configuration lies here
	s.Stdout, s.Stderr = &s.out, &s.err
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin starts the process.
func (s *started) begin() error {
	if err := s.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.Wait() // the exit code is asked for
		close(s.ended)
	}()
	return nil
}

// code waits for the process and returns its exit code, -1 after a signal.
func (s *started) code() int {
	<-s.ended
	return s.ProcessState.ExitCode()
}

// await waits until the condition holds, or the process has ended; it says
// whether the condition was seen to hold.
func (s *started) await(condition func() bool) bool {
	for !condition() {
		select {
		case <-s.ended:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	return true
}

func runLace(t *testing.T, want int, args ...string) string {
	t.Helper()
	s := start(t, args...)
	if got := s.code(); got != want {
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

// inState says whether a compaction of the root is behind step B, not yet
// through step F.
func inState(root string) bool {
	_, err := os.Stat(filepath.Join(root, "compaction-state"))
	return err == nil
}

// killing compacts copies of a root until it was killed so many times, at least
// every fourth time between steps B and F, resumes each, and wants the bytes of
// an uninterrupted run.
func killing(t *testing.T, root string, kills int, policies ...string) {
	t.Helper()
	random := randomOf(t)
	work := filepath.Join(t.TempDir(), "root")
	args := []string{"compact", work, "-q", "--max-removed", "100%", "--journal-size", killJournal}
	for _, p := range policies {
		args = append(args, "-p", p)
	}
	clone(t, root, work)
	begin := time.Now()
	s := start(t, args...)
	s.await(func() bool { return inState(work) })
	before := time.Since(begin)
	if code := s.code(); code != 0 {
		t.Fatalf("compact exits %d: %s", code, &s.err)
	}
	move := max(time.Since(begin)-before, time.Millisecond)
	want, err := recordsBytes(work)
	if err != nil {
		t.Fatal(err)
	}
	killed, inside := 0, 0
	clone(t, root, work)
	for attempt := 0; killed < kills || 4*inside < killed; attempt++ {
		if attempt == 20*kills {
			t.Fatalf("%d attempts: %d kills, %d of them between steps B and F", attempt, killed, inside)
		}
		s := start(t, args...)
		switch attempt % 4 {
		case 0: // anywhere: opening and sweeping may take most of a run
			time.Sleep(time.Duration(random.Int64N(int64(before + move))))
		case 1: // as soon as there is a state
			s.await(func() bool { return inState(work) })
		default: // within the move
			s.await(func() bool { return inState(work) })
			time.Sleep(time.Duration(random.Int64N(int64(move))))
		}
		_ = s.Process.Kill() // it may have ended
		code := s.code()
		if code != 0 && code != -1 {
			t.Fatalf("after %d kills compact exits %d: %s", killed, code, &s.err)
		}
		if code == -1 {
			killed++
			if inState(work) {
				inside++
				runLace(t, 0, "verify", work, "-q")
			}
			// Some are killed again before they are resumed.
			if killed < kills && random.IntN(2) == 0 {
				continue
			}
		}
		finished(t, work, want, args)
		clone(t, root, work)
	}
	t.Logf("%d of %d kills between steps B and F", inside, killed)
}

// finished resumes a root that a kill has left and wants the bytes of an
// uninterrupted run.
func finished(t *testing.T, root, want string, compact []string) {
	t.Helper()
	runLace(t, 0, "resume", root, "-q")
	// A run that resumes does not look at the policies: this one does.
	runLace(t, 0, compact...)
	got, err := recordsBytes(root)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatal("after the kills the root differs from that of an uninterrupted run")
	}
	runLace(t, 0, "verify", root, "-q", "--level", "seals")
}

// A compaction that is killed at random moments ends byte-identical.
func TestKilledCompactionEndsTheSame(t *testing.T) {
	t.Parallel()
	kills := 12
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
			s := stopInMove(t, root, work, policy, stop)
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

// stopInMove compacts copies of the root until a stop on request came before
// the compaction had ended: a fast machine may win the race some times.
func stopInMove(t *testing.T, root, work, policy string, stop syscall.Signal) *started {
	t.Helper()
	for range 50 {
		clone(t, root, work)
		s := start(t, "compact", work, "-p", policy, "--json", "--progress", "none", "--journal-size", killJournal)
		if !s.await(func() bool { return inState(work) }) {
			continue
		}
		_ = s.Process.Signal(stop) // it may have ended
		switch code := s.code(); code {
		case 75:
			return s
		case 0:
		default:
			t.Fatalf("exit %d, want 75:\n%s%s", code, &s.out, &s.err)
		}
	}
	t.Fatal("50 compactions ended before the signal reached them")
	return nil
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
	// It says what it waits for: from then on a signal finds it waiting.
	if !s.await(func() bool { return strings.Contains(s.err.String(), "lock") }) {
		t.Fatalf("it did not wait for the lock: exit %d, %s", s.code(), &s.err)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.code(); code != 75 {
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

// SIGUSR1 asks for a line about the progress and ends nothing.
func TestProgressOnRequest(t *testing.T) {
	t.Parallel()
	root, _ := killRoot(t)
	// Inherited: until its handler is there, the signal must not end a process.
	signal.Ignore(syscall.SIGUSR1)
	defer signal.Reset(syscall.SIGUSR1)
	for range 20 {
		s := start(t, "verify", root, "--level", "seals")
		for running := true; running; {
			select {
			case <-s.ended:
				running = false
			case <-time.After(time.Millisecond):
				_ = s.Process.Signal(syscall.SIGUSR1) // it may have ended
			}
		}
		if code := s.code(); code != 0 {
			t.Fatalf("%s: %s", s.ProcessState, &s.err)
		}
		if strings.Count(s.err.String(), "lace: verify: ") > 1 { // one is printed at the end
			return
		}
	}
	t.Error("no line was printed on request in 20 runs")
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
	bad, stopped := filepath.Join(dir, "bad"), filepath.Join(dir, "stopped")
	clone(t, root, bad)
	clone(t, root, stopped)
	flipLastByte(t, bad)
	if code, _, errOut := runSignalled(t, "once", syscall.SIGTERM, "move", "compact", stopped, "-p", policy, "--progress", "json"); code != 75 {
		t.Fatalf("exit %d, want 75: %s", code, errOut)
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
		{0, []string{"resume", root}},
		{0, []string{"verify", root}},
		{0, []string{"verify", root, "--json"}},
		{0, []string{"inspect", root, "--records"}},
		{1, []string{"export", root}}, // a cut stream is not what was asked for
		{0, []string{"admit", root, "--wrap", "--group", "g", "--app", "a", policy}},
		{0, []string{"sweep", root, "--dry-run", "-p", policy, "--list", "retained"}},
		{0, []string{"policy", "fmt", policy}},
		{3, []string{"verify", bad}},
		{3, []string{"verify", bad, "--json"}},
		{12, []string{"export", stopped}},
		{0, []string{"resume", stopped, "--json"}},
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
	for r, want := range map[string]string{root: `"records": 6`, stopped: `"records": 5`} { // one was admitted
		if out := runLace(t, 0, "verify", r, "--json"); !strings.Contains(out, want) {
			t.Errorf("the run on %s did not end: %s", r, out)
		}
	}
}

// flipLastByte damages the data of the last record.
func flipLastByte(t *testing.T, root string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(root, "record-log"))
	if err != nil {
		t.Fatal(err)
	}
	row, err := rowlog.Decode(log[len(log)-rowlog.RowLen:])
	if err != nil {
		t.Fatal(err)
	}
	arena, err := os.OpenFile(filepath.Join(root, "records"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = arena.ReadAt(b, int64(row.End())-1)
	if err == nil {
		_, err = arena.WriteAt([]byte{b[0] ^ 1}, int64(row.End())-1)
	}
	if err = errors.Join(err, arena.Close()); err != nil {
		t.Fatal(err)
	}
}
