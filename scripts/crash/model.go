//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/scripts/crash/fusefs"
	"github.com/lace-store/lace/scripts/crash/trace"
)

// modelRung runs the binary on the model file system of the in-process tests,
// behind FUSE: the power is cut at every mutating call that reaches it, and
// syncs fail with a cache that lies.
func modelRung() rung {
	return rung{name: "model", root: true, needs: []string{fusefs.Device}, trials: modelTrials, mutants: []mutant{
		{"directories are not synced", "power", func(c trace.Call, a trace.Action) trace.Action {
			a.Skip = a.Skip || c.IsSync() && c.Path == "."
			return a
		}},
		{"the arena is not synced", "power", func(c trace.Call, a trace.Action) trace.Action {
			a.Skip = a.Skip || c.IsSync() && c.Path == "records"
			return a
		}},
		{"compaction-state is not synced", "power", func(c trace.Call, a trace.Action) trace.Action {
			a.Skip = a.Skip || c.IsSync() && c.Path == "compaction-state.lace-tmp"
			return a
		}},
	}}
}

// modelCapacity makes the arena a sparse tebibyte.
const modelCapacity = 1 << 40

// modelled is a subject whose old root is on a model.
type modelled struct {
	*subject
	base  *crashfs.FS
	calls int // of an uninterrupted run, as the model counts them
}

func modelTrials(g *rig) ([]trial, error) {
	// To lace, FUSE is a network.
	g.env = []string{"LACE_ALLOW_NETWORK_FS=true"}
	s := smallShape()
	s.capacity = modelCapacity
	x, err := newSubject(g, s)
	if err != nil {
		return nil, err
	}
	m := &modelled{subject: x}
	if err := m.prepare(g); err != nil {
		return nil, err
	}
	random := 1
	if g.long {
		random = 16
	}
	if g.n > 0 {
		random = g.n
	}
	var trials []trial
	add := func(name string, run func(*worker) error) { trials = append(trials, trial{name, run}) }
	for at := 1; at <= m.calls; at++ {
		for _, keep := range []crashfs.Survivors{crashfs.None(), crashfs.All()} {
			add(fmt.Sprintf("power cut at call %d, kept %v", at, keep), func(w *worker) error { return w.modelPower(m, at, keep, 1) })
		}
		for range random {
			add(fmt.Sprintf("power cut at call %d and in the resume, kept at random", at), func(w *worker) error {
				return w.modelPower(m, at, crashfs.Random(w.rand.Uint64()>>32), 1+w.rand.IntN(2))
			})
		}
		for _, lie := range []crashfs.Lie{crashfs.CleanAndNew, crashfs.CleanAndOld, crashfs.ShutDown} {
			add(fmt.Sprintf("failed sync at call %d, lie %d", at, lie), func(w *worker) error { return w.modelSync(m, at, lie) })
		}
	}
	return trials, nil
}

// prepare plants the old root on a model, through the mount, and counts the
// calls of a compaction.
func (m *modelled) prepare(g *rig) error {
	dir, err := os.MkdirTemp(g.tmp, "model")
	if err != nil {
		return err
	}
	w := &worker{rig: g, dir: dir}
	fsys := crashfs.New(crashfs.Options{})
	if err := w.onModel(fsys, m.plant); err != nil {
		return err
	}
	m.base = fsys.Crash(crashfs.All())
	whole := m.base.Clone()
	return w.onModel(whole, func(root string) error {
		if err := w.succeeds(m.compact(root)...); err != nil {
			return err
		}
		m.calls = whole.Calls()
		return m.is(root, m.new)
	})
}

// onModel mounts a model, does something with the root in it, and unmounts it.
func (w *worker) onModel(fsys *crashfs.FS, do func(root string) error) error {
	dir := filepath.Join(w.dir, "model")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	server, err := fusefs.Serve(dir, fsys)
	if err != nil {
		return err
	}
	return errors.Join(do(filepath.Join(dir, "root")), unmount(server))
}

// unmountTries, a moment apart, are for files of a process that was killed just
// now: the kernel may still be closing them.
const unmountTries = 200

// unmount also ends a server whose model has crashed.
func unmount(server *fuse.Server) error {
	var err error
	for range unmountTries {
		if err = server.Unmount(); err == nil {
			server.Wait()
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("unmount the model: %w", err)
}

// modelPower cuts the power of a compaction at one call, and of its resume at a
// random one if there are two cuts.
func (w *worker) modelPower(m *modelled, at int, keep crashfs.Survivors, cuts int) error {
	fsys := m.base.Clone()
	fsys.CrashAt(at)
	if err := w.modelRun(fsys, m.compact); err != nil {
		return err
	}
	fsys = fsys.Crash(keep)
	for range cuts - 1 {
		fsys.CrashAt(1 + w.rand.IntN(m.calls))
		if err := w.modelRun(fsys, resumeLine); err != nil {
			return err
		}
		fsys = fsys.Crash(crashfs.Random(w.rand.Uint64() >> 32))
	}
	if err := w.onModel(fsys, func(root string) error { return w.settle(m.subject, root) }); err != nil {
		return fmt.Errorf("kept %v: %w", keep, err)
	}
	return w.durable(m, fsys)
}

// modelSync fails one sync of a compaction, and resumes in the same boot.
func (w *worker) modelSync(m *modelled, at int, lie crashfs.Lie) error {
	fsys := m.base.Clone()
	fsys.FailSync(at, lie, w.rand.Uint64()>>32)
	if err := w.modelRun(fsys, m.compact); err != nil {
		return err
	}
	if lie == crashfs.ShutDown {
		fsys = fsys.Crash(crashfs.Random(w.rand.Uint64() >> 32))
	} else {
		fsys = fsys.Clone()
	}
	if err := w.onModel(fsys, func(root string) error { return w.settle(m.subject, root) }); err != nil {
		return err
	}
	return w.durable(m, fsys)
}

// durable cuts the power of a finished root: nothing of it may go.
func (w *worker) durable(m *modelled, fsys *crashfs.FS) error {
	return w.onModel(fsys.Crash(crashfs.None()), func(root string) error {
		if err := m.is(root, m.new); err != nil {
			return fmt.Errorf("after a power cut behind the end: %w", err)
		}
		return nil
	})
}

func resumeLine(root string) []string { return []string{"resume", root, "-q"} }

// modelRun runs lace on a model that may be struck, and kills it at its next
// call once the power is cut. What it says of failed syncs must be a failure.
func (w *worker) modelRun(fsys *crashfs.FS, line func(root string) []string) error {
	return w.onModel(fsys, func(root string) error {
		e, err := w.traced(root, func(trace.Call) trace.Action { return trace.Action{Kill: fsys.Crashed()} }, line(root)...)
		if err == nil && e.code == 0 && (fsys.Crashed() || fsys.SyncFailed()) && w.mutant == nil {
			err = fmt.Errorf("struck, but %v", e)
		}
		return err
	})
}
