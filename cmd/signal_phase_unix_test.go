//go:build unix

package cmd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/cmd"
)

func addCommands(m map[string]func()) { m["lace-signalled"] = signalled }

// childrenHeedSignals lets the processes that the tests start heed the signals
// that this one was told to ignore, by nohup for example. A signal that is
// caught has its default action in a child; one that is ignored stays ignored.
// Here nobody looks at what is caught, so that it is ignored as before.
func childrenHeedSignals() {
	for _, s := range stopSignals {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// signalled is lace, which gets a signal at the moment it tells of a phase, or
// for the Nth time: `lace-signalled once|twice SIGNAL PHASE[:N] ARG...`. The
// first time the phase begins, and the second time something of it is counted,
// which may be all of it. Nothing depends on time: the
// run goes on only when the request to stop has been taken note of, and after
// a second signal not at all.
func signalled() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	phase, nth, _ := strings.Cut(os.Args[3], ":")
	w := &signallingWriter{twice: os.Args[1] == "twice", signal: syscall.Signal(n), phase: []byte(`"phase":"` + phase + `"`), left: 1}
	if nth != "" {
		if w.left, err = strconv.Atoi(nth); err != nil {
			panic(err)
		}
	}
	code := cmd.Main(os.Args[4:], os.Stdin, os.Stdout, w)
	if !w.sent {
		fmt.Fprintf(os.Stderr, "phase %s was not reached\n", os.Args[3])
		code = 99
	}
	os.Exit(code)
}

type signallingWriter struct {
	twice, sent bool
	signal      syscall.Signal
	phase       []byte
	left        int // how often the phase is told of until the signal is sent
}

func (w *signallingWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, w.phase) {
		w.left--
	}
	if !w.sent && w.left == 0 {
		w.sent = true
		if !awaitsSignal() {
			panic("nothing waits for a signal")
		}
		w.kill()
		for awaitsSignal() {
			runtime.Gosched()
		}
		if w.twice {
			w.kill()
			select {} // at once is: without another step of the run
		}
	}
	return os.Stderr.Write(p)
}

func (w *signallingWriter) kill() {
	if err := syscall.Kill(os.Getpid(), w.signal); err != nil {
		panic(err)
	}
}

// awaitsSignal says whether the goroutine that waits for the first signal is
// there. It cancels the run before it ends.
func awaitsSignal() bool {
	stacks := make([]byte, 1<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("cmd.stopOnSignal.func"))
}

var stopSignals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// runSignalled returns the exit code, -1 after a death by the signal.
func runSignalled(t *testing.T, times string, stop syscall.Signal, phase string, args ...string) (code int, out, errOut string) {
	t.Helper()
	c := exec.Command("lace-signalled", append([]string{times, strconv.Itoa(int(stop)), phase}, args...)...)
	c.Dir = t.TempDir() // no configuration lies here
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	_ = c.Run() // its code is what counts
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && status.Signal() != stop {
		t.Fatalf("it died of %v, not of %v:\n%s", status.Signal(), stop, &e)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

// phaseRoot makes a small root, a policy that keeps a half of it, and the
// bytes that an uninterrupted compaction leaves.
func phaseRoot(t *testing.T) (root, policy, want string) {
	t.Helper()
	dir := t.TempDir()
	root, policy = filepath.Join(dir, "root"), filepath.Join(dir, "half.lace")
	if err := fillRoot(root, 1<<20, &plain{count: 40, size: 100}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(halfPolicy), 0o666); err != nil {
		t.Fatal(err)
	}
	done := filepath.Join(dir, "done")
	clone(t, root, done)
	runLace(t, 0, "compact", done, "-q", "-p", policy)
	return root, policy, rootBytes(t, done)
}

func rootBytes(t *testing.T, root string) string {
	t.Helper()
	b, err := recordsBytes(root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// signalPhases are the phases that a compaction tells of, each as it begins and
// when something of it is counted. Once the tail is
// released there are only files to remove, and the run ends.
var signalPhases = []struct {
	phase string
	hint  string // what the resume line says
}{
	{"open", "nothing was changed"},
	{"sweep", "nothing was changed"},
	{"sweep:2", "nothing was changed"},
	{"count", "nothing was changed"},
	{"count:2", "nothing was changed"},
	{"plan", "nothing was changed"},
	{"plan:2", "lace resume "},
	{"move", "lace resume "},
	{"move:2", "lace resume "},
	{"publish", "lace resume "},
	{"publish:2", "lace resume "},
	{"release", "lace resume "},
	{"release:2", "lace resume "},
}

// A request to stop in each phase ends a compaction with 75 before its next
// batch, says how to go on, and loses nothing: what a resume leaves is what an
// uninterrupted run leaves.
func TestStopInEveryPhase(t *testing.T) {
	t.Parallel()
	root, policy, want := phaseRoot(t)
	for _, stop := range stopSignals {
		for _, p := range signalPhases {
			t.Run(stop.String()+" in "+p.phase, func(t *testing.T) {
				work := filepath.Join(t.TempDir(), "root")
				clone(t, root, work)
				compact := []string{"compact", work, "-p", policy}
				code, out, errOut := runSignalled(t, "once", stop, p.phase, append(compact, "--json", "--progress", "json")...)
				if code != 75 || !strings.Contains(out, `"outcome": "stopped"`) {
					t.Fatalf("exit %d, want 75:\n%s%s", code, out, errOut)
				}
				if !strings.Contains(errOut, p.hint) {
					t.Errorf("it does not say %q:\n%s", p.hint, errOut)
				}
				resumesTo(t, work, want, compact)
			})
		}
	}
}

// A second signal ends the process at once, by the signal itself; the root is
// sound or resumable in every phase.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	root, policy, want := phaseRoot(t)
	for i, p := range signalPhases {
		stop := stopSignals[i%len(stopSignals)]
		t.Run(stop.String()+" in "+p.phase, func(t *testing.T) {
			work := filepath.Join(t.TempDir(), "root")
			clone(t, root, work)
			compact := []string{"compact", work, "-p", policy}
			code, out, errOut := runSignalled(t, "twice", stop, p.phase, append(compact, "--json", "--progress", "json")...)
			if code != -1 || out != "" {
				t.Fatalf("exit %d, want death by the signal:\n%s%s", code, out, errOut)
			}
			runLace(t, 0, "verify", work, "-q")
			resumesTo(t, work, want, compact)
		})
	}
}

// resumesTo finishes what a stop has left and wants these bytes.
func resumesTo(t *testing.T, work, want string, compact []string) {
	t.Helper()
	runLace(t, 0, "resume", work, "-q")
	runLace(t, 0, append(compact, "-q")...) // when nothing was changed
	if rootBytes(t, work) != want {
		t.Error("the root differs from that of an uninterrupted run")
	}
	runLace(t, 0, "verify", work, "-q", "--level", "seals")
}

// A resume, a sweep and a verification stop on request as well, and say what
// comes next. The root is large enough for several batches and blocks.
func TestStopOfOtherCommands(t *testing.T) {
	t.Parallel()
	root, policy := killRoot(t)
	dir := t.TempDir()
	stopped, work := filepath.Join(dir, "stopped"), filepath.Join(dir, "work")
	clone(t, root, work)
	runLace(t, 0, "compact", work, "-q", "-p", policy)
	want := rootBytes(t, work)
	clone(t, root, stopped)
	compact := []string{"compact", stopped, "-p", policy, "--journal-size", killJournal, "--progress", "json"}
	if code, _, errOut := runSignalled(t, "once", syscall.SIGTERM, "move", compact...); code != 75 {
		t.Fatalf("exit %d, want 75: %s", code, errOut)
	}
	for _, c := range []struct {
		phase, hint string
		args        []string
	}{
		{"move", "lace resume ", []string{"resume", work}},
		{"publish", "lace resume ", []string{"resume", work}},
		{"release", "lace resume ", []string{"resume", work}},
		{"verify", "--from ", []string{"verify", root, "--jobs", "1"}},
		{"verify", "", []string{"verify", stopped}},
		{"sweep", "", []string{"sweep", root, "--dry-run", "-p", policy, "--window-records", "1"}},
	} {
		for _, stop := range stopSignals {
			t.Run(stop.String()+" in "+c.phase+" of "+c.args[0], func(t *testing.T) {
				if c.args[0] == "resume" {
					clone(t, stopped, work)
				}
				code, out, errOut := runSignalled(t, "once", stop, c.phase, append(c.args, "--json", "--progress", "json")...)
				if code != 75 || !strings.Contains(out, `"outcome": "stopped"`) || !strings.Contains(errOut, c.hint) {
					t.Fatalf("exit %d, want 75 and %q:\n%s%s", code, c.hint, out, errOut)
				}
				if c.args[0] == "resume" {
					resumesTo(t, work, want, []string{"compact", work, "-p", policy})
				}
			})
		}
	}
}
