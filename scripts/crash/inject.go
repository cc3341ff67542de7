//go:build linux && amd64

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// injectRung lets every mutating call of a compaction and of a resume fail
// once, each with every error, cuts every write short, and lets the root turn
// read-only at every call.
func injectRung() rung {
	return rung{name: "inject", trials: injectTrials, mutants: []mutant{
		{"a failed write of the arena is taken for done", "pwrite64 records", func(c trace.Call, a trace.Action) trace.Action {
			if a.Errno != 0 && c.IsWrite() && c.Path == "records" {
				return trace.Action{Skip: true}
			}
			return a
		}},
		{"a failed rename of the state is taken for done", "to compaction-state", func(c trace.Call, a trace.Action) trace.Action {
			if a.Errno != 0 && c.To == "compaction-state" {
				return trace.Action{Skip: true}
			}
			return a
		}},
	}}
}

// injected are the errors of a call; 0 is a short write.
func injected() []unix.Errno {
	return []unix.Errno{unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EINTR, 0}
}

func injectTrials(g *rig) ([]trial, error) {
	random := 0
	if g.long {
		random = 20
	}
	subjects, err := newSubjects(g, random)
	if err != nil {
		return nil, err
	}
	var trials []trial
	for _, x := range subjects {
		for _, c := range x.calls {
			for _, errno := range injected() {
				if errno != 0 || c.IsWrite() {
					trials = append(trials, injectTrial(x, c, errno, false))
				}
			}
			// The error of a resume is one of them, in turn.
			errno := injected()[c.Index%5]
			trials = append(trials, injectTrial(x, c, errno, true), trial{
				fmt.Sprintf("the root is read-only from call %d on, %v", c.Index, c), func(w *worker) error { return w.readOnly(x, c.Index) },
			})
		}
	}
	return trials, nil
}

func injectTrial(x *subject, c trace.Call, errno unix.Errno, resume bool) trial {
	name := fmt.Sprintf("%s at call %d, %v", unix.ErrnoName(errno), c.Index, c)
	if errno == 0 {
		name = fmt.Sprintf("short write at call %d, %v", c.Index, c)
	}
	if resume {
		return trial{"a resume: " + name, func(w *worker) error { return w.injectResume(x, c.Index, errno) }}
	}
	return trial{name, func(w *worker) error {
		root := filepath.Join(w.dir, "root")
		if err := x.plant(root); err != nil {
			return err
		}
		return w.inject(x, root, c.Index, errno, x.compact(root)...)
	}}
}

// readOnly is a file system that turns read-only within a run, and is mounted
// again.
func (w *worker) readOnly(x *subject, n int) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	var at trace.Call
	e, err := w.traced(root, func(c trace.Call) trace.Action {
		if !c.Mutates || c.Index < n {
			return trace.Action{}
		}
		if c.Index == n {
			at = c
		}
		return trace.Action{Errno: unix.EROFS}
	}, x.compact(root)...)
	if err != nil {
		return err
	}
	if err := w.told(x, root, e, at, unix.EROFS); err != nil {
		return fmt.Errorf("%v: %w", at, err)
	}
	return w.settle(x, root)
}

// injectResume lets a call of a resume fail, after a compaction that was
// killed as its first batch was written.
func (w *worker) injectResume(x *subject, n int, errno unix.Errno) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	first := slices.IndexFunc(x.calls, func(c trace.Call) bool { return c.IsWrite() && c.Path == "records" })
	if _, err := w.traced(root, w.killing(first+1, true), x.compact(root)...); err != nil {
		return err
	}
	return w.inject(x, root, n, errno, "resume", root, "-q")
}

// inject lets the n-th call fail and checks what the command says and leaves.
func (w *worker) inject(x *subject, root string, n int, errno unix.Errno, args ...string) error {
	var at trace.Call
	e, err := w.traced(root, func(c trace.Call) trace.Action {
		if c.Index != n {
			return trace.Action{}
		}
		at = c
		if errno == 0 {
			return trace.Action{Short: w.part(c.Len)}
		}
		return trace.Action{Errno: errno}
	}, args...)
	if err != nil {
		return err
	}
	if err := w.told(x, root, e, at, errno); err != nil {
		return fmt.Errorf("%v: %w", at, err)
	}
	return w.settle(x, root)
}

// told checks the exit code and what is said about a failed call. Only a call
// that was interrupted or short may be carried on with, and a file system that
// has no holes is no failure.
func (w *worker) told(x *subject, root string, e ended, at trace.Call, errno unix.Errno) error {
	harmless := at.Index == 0 || errno == 0 || errno == unix.EINTR
	switch {
	case e.code == 0 && harmless:
		return x.is(root, x.new)
	case e.code == 0:
		return fmt.Errorf("exit 0 in spite of %s", unix.ErrnoName(errno))
	case errno == 0:
		return fmt.Errorf("a short write ends it: %v", e)
	}
	want := 1
	if errno == unix.ENOSPC || errno == unix.EDQUOT {
		want = 16
	}
	if e.code != want {
		return fmt.Errorf("want exit %d: %v", want, e)
	}
	left, err := leftovers(root)
	if err != nil {
		return err
	}
	if len(left) > 0 && !strings.Contains(e.err, "lace resume "+root) {
		return fmt.Errorf("it leaves %v and no word on what to do: %v", left, e)
	}
	return nil
}
