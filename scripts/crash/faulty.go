//go:build linux && amd64

package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// diskRung runs a compaction on a disk whose k-th write, flush or read fails,
// once or from then on, resumes it in the same boot, and looks again after a
// remount: after a failed sync the cache shows what the disk does not have.
func diskRung() rung {
	return rung{name: "disk", root: true, needs: []string{"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mount", "/dev/fuse"}, trials: diskTrials, mutants: []mutant{
		{"a failed sync is taken for done", "a sync fails once by a write", func(c trace.Call, a trace.Action) trace.Action {
			if c.IsSync() {
				a.Forgive = true
			}
			return a
		}},
	}}
}

// refused names a fault.
func (f faults) String() string {
	how := "once"
	if f.lasting {
		how = "for good"
	}
	switch {
	case f.write > 0:
		return fmt.Sprintf("write %d fails %s", f.write, how)
	case f.flush > 0:
		return fmt.Sprintf("flush %d fails %s", f.flush, how)
	}
	return fmt.Sprintf("read %d fails %s", f.read, how)
}

// every is a fault of each kind at each place up to what a run makes.
func (f faults) every() []faults {
	var all []faults
	for _, lasting := range []bool{false, true} {
		for k := range f.write {
			all = append(all, faults{write: k + 1, lasting: lasting})
		}
		for k := range f.flush {
			all = append(all, faults{flush: k + 1, lasting: lasting})
		}
		for k := range f.read {
			all = append(all, faults{read: k + 1, lasting: lasting})
		}
	}
	return all
}

func diskTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(g.seed, 0))
	var trials []trial
	for i, f := range filesystems() {
		image, err := g.image(x, f)
		if err != nil {
			return nil, err
		}
		most, err := g.calls(x, image, fmt.Sprint("count", i))
		if err != nil {
			return nil, err
		}
		all, syncs := most.every(), x.syncs()
		random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		random.Shuffle(len(syncs), func(a, b int) { syncs[a], syncs[b] = syncs[b], syncs[a] })
		// The short form takes all of ext4 and xfs and a part of btrfs, -n a
		// part of each, the long form all.
		if n := max(g.n/4, 15); !g.long && (g.n > 0 || f.name == "btrfs") {
			all, syncs = all[:min(3*n, len(all))], syncs[:min(n, len(syncs))]
		}
		for _, fault := range all {
			trials = append(trials, faultyTrial(f, fault.String(), func(w *worker) error { return w.faulty(x, image, fault, 0) }))
		}
		for _, s := range syncs {
			trials = append(trials, faultyTrial(f, s.String(), func(w *worker) error { return w.faulty(x, image, s.fault, s.call.Index) }))
		}
	}
	// Neighbours are of different file systems, so that workers do not wait.
	random.Shuffle(len(trials), func(a, b int) { trials[a], trials[b] = trials[b], trials[a] })
	return trials, nil
}

// calls counts what an undisturbed compaction asks of the disk.
func (g *rig) calls(x *subject, image []byte, name string) (faults, error) {
	w := &worker{rig: g, dir: g.tmp + "/" + name}
	defer w.close()
	v, d, err := w.mounted(image)
	if err != nil {
		return faults{}, err
	}
	defer v.drop()
	d.fail(faults{})
	if err := w.succeeds(x.compact(v.root())...); err != nil {
		return faults{}, err
	}
	if err := v.unmount(); err != nil {
		return faults{}, err
	}
	count, _ := d.fail(faults{})
	return count, nil
}

func faultyTrial(f filesystem, name string, run func(*worker) error) trial {
	return trial{f.name + ": " + name, func(w *worker) error {
		defer w.alone(f)()
		return run(w)
	}}
}

// failedSync is a sync of the binary that fails once: the disk refuses a write
// or a flush beneath it, and is well again when the call returns. The file
// system tells that one time, and the next sync says ok.
type failedSync struct {
	call  trace.Call
	fault faults
}

func (s failedSync) String() string {
	beneath := "write"
	if s.fault.flush > 0 {
		beneath = "flush"
	}
	return fmt.Sprintf("a sync fails once by a %s, call %d, %v", beneath, s.call.Index, s.call)
}

// syncs are all of a compaction, by what the disk may refuse.
func (x *subject) syncs() []failedSync {
	var all []failedSync
	for _, c := range x.calls {
		if c.IsSync() {
			all = append(all, failedSync{c, faults{write: 1}}, failedSync{c, faults{flush: 1}})
		}
	}
	return all
}

// faulty runs a compaction with a fault of the disk and what follows. The disk
// has the fault from the start, or during one call only.
func (w *worker) faulty(x *subject, image []byte, fault faults, during int) error {
	v, d, err := w.mounted(image)
	if err != nil {
		return err
	}
	defer v.drop()
	if during == 0 {
		d.fail(fault)
	} else {
		d.fail(faults{})
	}
	e, err := w.traced(v.root(), func(c trace.Call) trace.Action {
		switch {
		case during > 0 && c.Index == during:
			d.fail(fault)
		case during > 0 && c.Index == during+1:
			d.heal()
		}
		return trace.Action{}
	}, x.compact(v.root())...)
	_, refused := d.fail(faults{}) // the disk is well again
	if err != nil {
		return err
	}
	switch {
	case e.code == 0 && w.mutant == nil:
		err = x.is(v.root(), x.new)
	case e.code == 0 || e.code == 1 || e.code == 13 && fault.read > 0:
	default:
		err = fmt.Errorf("%v", e)
	}
	if err != nil {
		return err
	}
	if e.code != 0 && refused == 0 {
		return fmt.Errorf("no fault, but %v", e)
	}
	// The same boot: a file system that went read-only refuses, all others
	// finish.
	again, err := w.lace("resume", v.root(), "-q")
	if err != nil {
		return err
	}
	if again.code != 0 && writable(v) {
		return fmt.Errorf("the disk is well again, but %v", again)
	}
	// A file system may lose a removal that it said was synced. Then the files
	// are back, an opening is refused, and the resume comes to the same end.
	if err := v.remount(); err != nil {
		return err
	}
	return w.settle(x, v.root())
}

// writable says whether files can still be made.
func writable(v *volume) bool { return command("mkdir", v.dir+"/probe") == nil }
