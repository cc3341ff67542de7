//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// locksRung lets processes contend for a root: against a holder that stands
// still in the middle of its work, is killed there, or is stopped and goes on;
// under other names of the root; and many at once.
func locksRung() rung {
	return rung{name: "locks", root: true, needs: []string{"mount"}, trials: lockTrials, mutants: []mutant{
		{"no lock is taken", "holder", func(c trace.Call, a trace.Action) trace.Action {
			if c.Name == "flock" {
				return trace.Action{Skip: true}
			}
			return a
		}},
		{"the lifetime lock is not taken", "holder", func(c trace.Call, a trace.Action) trace.Action {
			if c.Name == "flock" && c.Path == "lock" {
				return trace.Action{Skip: true}
			}
			return a
		}},
	}}
}

func lockTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	var trials []trial
	for i := 9; i < len(x.calls); i += 9 {
		c := x.calls[i]
		trials = append(trials,
			trial{fmt.Sprintf("a holder stands before call %d, %v", c.Index, c), func(w *worker) error { return w.held(x, c.Index, false) }},
			trial{fmt.Sprintf("a holder is killed before call %d, %v", c.Index, c), func(w *worker) error { return w.held(x, c.Index, true) }})
	}
	rounds := 40
	if g.long {
		rounds = 1000
	}
	if g.n > 0 {
		rounds = g.n
	}
	for range rounds {
		trials = append(trials,
			trial{"processes race to compact", func(w *worker) error { return w.race(x, "compact", x.compact) }},
			trial{"processes race to resume", func(w *worker) error { return w.race(x, "resume", resumeArgs) }},
			trial{"processes race to create", func(w *worker) error { return w.raceCreate(x) }})
	}
	for range rounds / 4 {
		trials = append(trials, trial{"a holder is stopped and goes on", func(w *worker) error { return w.stopped(x) }})
	}
	return trials, nil
}

func resumeArgs(root string) []string { return []string{"resume", root, "-q"} }

// busy wants every command on every name of the root refused at once.
func (w *worker) busy(x *subject, names ...string) error {
	for _, root := range names {
		for _, args := range [][]string{
			x.compact(root), resumeArgs(root), {"sweep", root, "--dry-run", "-q", "-p", x.policy}, {"admit", root, "-q", os.DevNull},
		} {
			begin := time.Now()
			e, err := w.lace(args...)
			if err != nil {
				return err
			}
			if e.code != 11 {
				return fmt.Errorf("the root is held, want exit 11: %v", e)
			}
			if took := time.Since(begin); took > 20*time.Second {
				return fmt.Errorf("refused only after %v: %v", took, e)
			}
		}
		if e, err := w.lace("inspect", root); err != nil || e.code != 0 {
			return fmt.Errorf("a held root is not described: %v, %w", e, err)
		}
	}
	return nil
}

// aliases makes other names of a root: a link to it, a link to its parent, a
// bind mount, and a directory of hard links.
func (w *worker) aliases(root string) (names []string, drop func(), err error) {
	at := func(name string) string { return filepath.Join(w.dir, name) }
	bound, hard := at("bound"), at("hard")
	for _, step := range []func() error{
		func() error { return os.Symlink(root, at("link")) },
		func() error { return os.Symlink(filepath.Dir(root), at("parent")) },
		func() error { return os.Mkdir(bound, 0o777) },
		func() error { return unix.Mount(root, bound, "", unix.MS_BIND, "") },
		func() error { return os.Mkdir(hard, 0o777) },
	} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	drop = func() { _ = unix.Unmount(bound, unix.MNT_DETACH) }
	for _, name := range []string{"store-format", "lock", "arena-lock", "records", "record-log"} {
		if err := os.Link(filepath.Join(root, name), filepath.Join(hard, name)); err != nil {
			drop()
			return nil, nil, err
		}
	}
	return []string{root, at("link"), at("parent/" + filepath.Base(root)), bound, hard}, drop, nil
}

// held stops a compaction before a call and lets others try.
func (w *worker) held(x *subject, n int, kill bool) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	names, drop, err := w.aliases(root)
	if err != nil {
		return err
	}
	defer drop()
	if !kill {
		names = names[:1+w.rand.IntN(len(names))]
	}
	var failed error
	e, err := w.traced(root, func(c trace.Call) trace.Action {
		if c.Index != n {
			return trace.Action{}
		}
		failed = w.busy(x, names[len(names)-1])
		return trace.Action{Kill: kill}
	}, x.compact(root)...)
	if err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if kill {
		return w.settle(x, root)
	}
	if e.code != 0 {
		return fmt.Errorf("%v", e)
	}
	return x.is(root, x.new)
}

// stopped stops a compaction by signal, tries, and lets it go on.
func (w *worker) stopped(x *subject) error {
	root := filepath.Join(w.dir, "root")
	for range 50 {
		if err := os.RemoveAll(root); err != nil {
			return err
		}
		if err := x.plant(root); err != nil {
			return err
		}
		c := w.command(x.compact(root)...)
		if err := c.Start(); err != nil {
			return err
		}
		for range 2000 {
			if _, err := os.Lstat(filepath.Join(root, "compaction-state")); err == nil {
				break
			}
			time.Sleep(50 * time.Microsecond)
		}
		_ = c.Process.Signal(unix.SIGSTOP) // it may have ended
		err := stands(c.Process.Pid)
		_, within := os.Lstat(filepath.Join(root, "compaction-state"))
		if err == nil && within == nil {
			err = w.busy(x, root)
		}
		_ = c.Process.Signal(unix.SIGCONT) // it may have ended
		if e := c.Wait(); err == nil {
			err = e
		}
		if err != nil || within == nil {
			if err == nil {
				err = x.is(root, x.new)
			}
			return err
		}
	}
	return fmt.Errorf("50 compactions ended before they could be stopped")
}

// stands waits until a signalled child of ours is stopped or has ended: it runs
// on for a moment after the signal was sent.
func stands(pid int) error {
	for range 10_000 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		// The state is behind the name, which is in parentheses.
		_, state, _ := strings.Cut(string(b), ") ")
		if strings.HasPrefix(state, "T") || strings.HasPrefix(state, "Z") {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("process %d does not stop", pid)
}

// race starts several processes at a time; each ends its work or is refused,
// and one of them at least does it.
func (w *worker) race(x *subject, what string, args func(string) []string) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	if what == "resume" {
		n := 20 + w.rand.IntN(len(x.calls)-20)
		if _, err := w.traced(root, w.killing(n, w.rand.IntN(2) == 0), x.compact(root)...); err != nil {
			return err
		}
	}
	all, err := w.together(2+w.rand.IntN(3), func(i int) []string {
		if what == "compact" && i > 1 {
			return []string{"sweep", root, "--dry-run", "-q", "-p", x.policy}
		}
		return args(root)
	})
	if err != nil {
		return err
	}
	if err := settledCodes(all, 0, 11, 12); err != nil {
		return err
	}
	return w.settle(x, root)
}

// raceCreate lets processes make one root and admit the same records.
func (w *worker) raceCreate(x *subject) error {
	root, stream := filepath.Join(w.dir, "root"), filepath.Join(w.dir, "stream")
	if err := os.WriteFile(stream, x.old.arena, 0o666); err != nil {
		return err
	}
	all, err := w.together(2+w.rand.IntN(3), func(int) []string {
		return []string{"admit", root, stream, "-q", "--create", "--capacity", fmt.Sprint(x.shape.capacity)}
	})
	if err != nil {
		return err
	}
	if err := settledCodes(all, 0, 11); err != nil {
		return err
	}
	return x.is(root, x.old)
}

// together runs lace several times at once.
func (w *worker) together(n int, args func(i int) []string) ([]ended, error) {
	all, errs := make([]ended, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { all[i], errs[i] = w.lace(args(i)...) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// settledCodes wants the work to be done by one process at least, and
// no other exit codes than these.
func settledCodes(all []ended, codes ...int) error {
	var done bool
	var said []string
	for _, e := range all {
		if !slices.Contains(codes, e.code) {
			return fmt.Errorf("%v", e)
		}
		done = done || e.code == 0
		said = append(said, e.String())
	}
	if !done {
		return fmt.Errorf("nobody did it: %s", strings.Join(said, "; "))
	}
	return nil
}
