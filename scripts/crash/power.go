//go:build linux && amd64

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// powerRung cuts the power at a call: the file system is shut down while the
// process stands still before the call, and mounted again. What the kernel may
// have written back by itself before the cut is varied at random.
func powerRung() rung {
	return rung{name: "power", root: true, needs: []string{"mkfs.ext4", "mkfs.xfs", "mount"}, trials: powerTrials, mutants: []mutant{
		{"the arena is not synced", "on ext4 at call 4", skipSync("records")},
		{"temporaries are not synced", "pwrite64 records", skipSync(".lace-tmp")},
	}}
}

// skipSync leaves the syncs of files out whose names end so, and the hints that
// would start the same write-back.
func skipSync(suffix string) func(trace.Call, trace.Action) trace.Action {
	return func(c trace.Call, a trace.Action) trace.Action {
		if (c.IsSync() || c.IsHint()) && strings.HasSuffix(c.Path, suffix) && a == (trace.Action{}) {
			a.Skip = true
		}
		return a
	}
}

func powerTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	cuts := g.n
	if cuts == 0 {
		cuts = max(2*len(x.calls), 200)
		if g.long {
			cuts = 2000
		}
	}
	var trials []trial
	order := rand.New(rand.NewPCG(g.seed, 0)).Perm(len(x.calls))
	for i := range cuts {
		f := filesystems()[i%2]
		c := x.calls[order[i/2%len(order)]]
		trials = append(trials, trial{fmt.Sprintf("power cut on %s at call %d, %v", f.name, c.Index, c), func(w *worker) error {
			return w.power(x, f, c.Index)
		}})
	}
	for _, f := range filesystems()[:2] {
		trials = append(trials, trial{"power cut on " + f.name + " behind the end", func(w *worker) error { return w.powerEnd(x, f) }})
	}
	others, err := otherPower(g)
	return append(trials, others...), err
}

// planted makes a file system with the old root on it, all of it durable.
func (w *worker) planted(x *subject, f filesystem) (*volume, error) {
	file := filepath.Join(w.dir, "disk")
	if err := f.format(file); err != nil {
		return nil, err
	}
	v, err := mount(file, filepath.Join(w.dir, "mount"))
	if err != nil {
		return nil, err
	}
	if err := x.plant(v.root()); err != nil {
		v.drop()
		return nil, err
	}
	if err := v.sync(); err != nil {
		v.drop()
		return nil, err
	}
	return v, nil
}

// cutAt cuts the power before the n-th call.
func (w *worker) cutAt(v *volume, n int, failed *error) decider {
	// A kernel may heed a hint or not.
	heeded := w.rand.IntN(2) == 0
	return func(c trace.Call) trace.Action {
		if c.Index != n {
			return trace.Action{Skip: c.IsHint() && !heeded}
		}
		*failed = w.writeBack(v)
		if err := v.shutdown(); err != nil {
			*failed = err
		}
		return trace.Action{Kill: true}
	}
}

// writeBack does what the kernel may do at any time: nothing, or it makes a
// file or all of them durable.
func (w *worker) writeBack(v *volume) error {
	switch w.rand.IntN(4) {
	case 0:
		return v.sync()
	case 1:
		entries, err := os.ReadDir(v.root())
		if err != nil {
			return err
		}
		file := filepath.Join(v.root(), entries[w.rand.IntN(len(entries))].Name())
		return v.descriptor(file, unix.Fdatasync)
	}
	return nil
}

// power cuts a compaction and, half of the times, the resume too.
func (w *worker) power(x *subject, f filesystem, n int) error {
	v, err := w.planted(x, f)
	if err != nil {
		return err
	}
	defer v.drop()
	args := x.compact(v.root())
	for range 1 + w.rand.IntN(3)/2 {
		var failed error
		if _, err := w.traced(v.root(), w.cutAt(v, n, &failed), args...); err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		if err := v.remount(); err != nil {
			return err
		}
		if err := w.opened(x, v.root()); err != nil {
			return err
		}
		n, args = 1+w.rand.IntN(len(x.calls)), []string{"resume", v.root(), "-q"}
	}
	return w.resumed(x, v.root())
}

// powerEnd cuts behind a compaction that said it was done: nothing is left to
// be resumed.
func (w *worker) powerEnd(x *subject, f filesystem) error {
	v, err := w.planted(x, f)
	if err != nil {
		return err
	}
	defer v.drop()
	if err := w.succeeds(x.compact(v.root())...); err != nil {
		return err
	}
	if err := v.shutdown(); err != nil {
		return err
	}
	if err := v.remount(); err != nil {
		return err
	}
	if left, err := leftovers(v.root()); err != nil || len(left) > 0 {
		return fmt.Errorf("it said it was done and left %v (%v)", left, err)
	}
	return x.is(v.root(), x.new)
}
