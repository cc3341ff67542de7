//go:build linux && amd64

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// ended is how a lace process ended.
type ended struct {
	args  []string
	code  int // -1 after a kill
	out   string
	err   string
	calls int // mutating calls, if it was traced
}

// String is one line for a report.
func (e ended) String() string {
	said := strings.TrimSpace(e.err)
	if said == "" {
		said = strings.TrimSpace(e.out)
	}
	return fmt.Sprintf("lace %s: exit %d: %s", strings.Join(e.args, " "), e.code, said)
}

// environment keeps the settings of whoever runs the tests out.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GOMAXPROCS=1"}
}

// decider is asked what becomes of a call.
type decider func(trace.Call) trace.Action

// command is lace in an empty directory.
func (w *worker) command(args ...string) *exec.Cmd {
	c := exec.Command(w.program(), args...)
	c.Dir, c.Env = w.dir, append(environment(), w.env...)
	return c
}

// lace runs lace unobserved.
func (w *worker) lace(args ...string) (ended, error) {
	c := w.command(args...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	late := time.AfterFunc(cmp.Or(w.patience, time.Minute), func() {
		if c.Process != nil {
			_ = c.Process.Kill() // it may have ended
		}
	})
	defer late.Stop()
	err := c.Run()
	if c.ProcessState == nil {
		return ended{}, err
	}
	return ended{args, c.ProcessState.ExitCode(), out.String(), said.String(), 0}, nil
}

// traced runs lace and asks at every call on the root. A planted fault of the
// protocol is only here: it is the interrupted run that has it, not the check.
func (w *worker) traced(root string, decide decider, args ...string) (ended, error) {
	e := ended{args: args}
	said := [2]*os.File{}
	for i, name := range []string{"stdout", "stderr"} {
		f, err := os.Create(filepath.Join(w.dir, name))
		if err != nil {
			return e, err
		}
		defer f.Close()
		said[i] = f
	}
	r, err := trace.Run(trace.Command{
		Args: append([]string{w.program()}, args...), Dir: w.dir, Env: append(environment(), w.env...),
		Stdout: said[0], Stderr: said[1], Watch: root,
		Decide: func(c trace.Call) trace.Action {
			a := decide(c)
			if w.mutant != nil {
				a = w.mutant.sabotage(c, a)
			}
			return a
		},
	})
	if err != nil {
		return e, err
	}
	e.code, e.calls = r.Code, r.Calls
	for i, text := range []*string{&e.out, &e.err} {
		b, err := os.ReadFile(said[i].Name())
		if err != nil {
			return e, err
		}
		*text = string(b)
	}
	return e, nil
}
