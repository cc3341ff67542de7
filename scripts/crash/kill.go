//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// killRung kills the binary, at every mutating call and at random, up to five
// times in a row.
func killRung() rung {
	return rung{name: "kill", trials: killTrials, mutants: []mutant{
		{"no journal is published", "pwrite64 records", func(c trace.Call, a trace.Action) trace.Action {
			if c.To == "compaction-journal" {
				a.Skip = true
			}
			return a
		}},
		{"the plan is removed before the state", "unlinkat", func(c trace.Call, a trace.Action) trace.Action {
			if c.Name == "unlinkat" && c.Path == "compaction-state" && a == (trace.Action{}) {
				return trace.Action{Skip: true}
			}
			return a
		}},
	}}
}

// maxKills in a row.
const maxKills = 5

func killTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	var trials []trial
	for _, c := range x.calls {
		trials = append(trials,
			trial{fmt.Sprintf("killed before call %d, %v", c.Index, c), func(w *worker) error { return w.killAt(x, c.Index, false) }},
			trial{fmt.Sprintf("killed within call %d, %v", c.Index, c), func(w *worker) error { return w.killAt(x, c.Index, true) }})
	}
	random := g.n
	if random == 0 {
		random = 200
		if g.long {
			random = 4000
		}
	}
	for i := range random {
		if i%2 == 0 {
			trials = append(trials, trial{"random calls in a row", func(w *worker) error { return w.killCalls(x) }})
		} else {
			trials = append(trials, trial{"random moments in a row", func(w *worker) error { return w.killMoments(x) }})
		}
	}
	others, err := otherKills(g)
	return append(trials, others...), err
}

// killing kills at the n-th mutating call: before it, or when a part of it is
// done.
func (w *worker) killing(n int, within bool) decider {
	return func(c trace.Call) trace.Action {
		switch {
		case c.Index != n:
			return trace.Action{}
		case within:
			return trace.Action{Short: w.part(c.Len), KillAfter: true}
		}
		return trace.Action{Kill: true}
	}
}

// part is a random part of a length.
func (w *worker) part(length int64) int64 { return 1 + w.rand.Int64N(max(length-1, 1)) }

func (w *worker) killAt(x *subject, n int, within bool) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	e, err := w.traced(root, w.killing(n, within), x.compact(root)...)
	if err != nil {
		return err
	}
	if e.code != -1 && w.mutant == nil {
		return fmt.Errorf("not killed: %v", e)
	}
	return w.settle(x, root)
}

// killCalls kills a compaction and its resumes at random calls.
func (w *worker) killCalls(x *subject) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	args := x.compact(root)
	for range 1 + w.rand.IntN(maxKills) {
		if _, err := w.traced(root, w.killing(1+w.rand.IntN(len(x.calls)), w.rand.IntN(2) == 0), args...); err != nil {
			return err
		}
		if err := w.opened(x, root); err != nil {
			return err
		}
		args = []string{"resume", root, "-q"}
	}
	return w.resumed(x, root)
}

// killMoments kills a compaction and its resumes after random times, unobserved.
func (w *worker) killMoments(x *subject) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	args := x.compact(root)
	for range 1 + w.rand.IntN(maxKills) {
		c := w.command(args...)
		if err := c.Start(); err != nil {
			return err
		}
		// Half of them within the move: wait for its state.
		if w.rand.IntN(2) == 0 {
			for deadline := time.Now().Add(100 * time.Millisecond); time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
				if _, err := os.Lstat(filepath.Join(root, "compaction-state")); err == nil {
					break
				}
			}
		}
		time.Sleep(time.Duration(w.rand.Int64N(int64(15 * time.Millisecond))))
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()         // killed, or not
		if code := c.ProcessState.ExitCode(); code > 0 {
			return fmt.Errorf("lace %v: exit %d", args, code)
		}
		if err := w.opened(x, root); err != nil {
			return err
		}
		args = []string{"resume", root, "-q"}
	}
	return w.resumed(x, root)
}
