//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// fullRung lets the disk be full: before the compaction, from none to a page
// more than it needs, and, behind the check that refuses such a run, from a
// moment within it; and without a free inode.
func fullRung() rung {
	return rung{name: "full", root: true, needs: []string{"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mount"}, trials: fullTrials, mutants: []mutant{
		{"a failed write is taken for done", "0 pages free from", func(c trace.Call, a trace.Action) trace.Action {
			if c.IsWrite() {
				a.Forgive = true
			}
			return a
		}},
	}}
}

// needed is about what a compaction of the small shape needs, in pages: a MiB
// of slack, the plan, a journal and the log.
const needed = (1<<20 + 128<<10) / 4096

func fullTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	sizes := 20
	if g.long {
		sizes = 200
	}
	if g.n > 0 {
		sizes = g.n
	}
	all := append(filesystems(), filesystem{name: "tmpfs", size: 16 << 20})
	var trials []trial
	for i := range sizes {
		for _, f := range all {
			// Half of them before the run, half from a call within it.
			if i%2 == 0 {
				pages := i * (needed + 2) / sizes
				trials = append(trials, trial{fmt.Sprintf("%s: %d pages free", f.name, pages), func(w *worker) error { return w.full(x, f, pages, 0) }})
				continue
			}
			pages, from := i/2%4*i/4, 9+i*7%(len(x.calls)-9)
			trials = append(trials, trial{fmt.Sprintf("%s: %d pages free from call %d, %v", f.name, pages, from+1, x.calls[from]), func(w *worker) error {
				return w.full(x, f, pages, from+1)
			}})
		}
	}
	for _, f := range all {
		if f.name == "ext4" || f.name == "tmpfs" { // the others make inodes as they need them
			trials = append(trials, trial{f.name + ": no free inode", func(w *worker) error { return w.noInode(x, f) }})
		}
	}
	return trials, nil
}

// space mounts a file system of little room with the old root on it.
func (w *worker) space(x *subject, f filesystem) (*volume, error) {
	if f.name != "tmpfs" {
		return w.planted(x, f)
	}
	v := &volume{dir: filepath.Join(w.dir, "mount")}
	if err := os.Mkdir(v.dir, 0o777); err != nil {
		return nil, err
	}
	if err := unix.Mount("lace-crash", v.dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=100", f.size)); err != nil {
		return nil, err
	}
	return v, x.plant(v.root())
}

// fill takes all space but some pages: a file takes everything, in ever
// smaller pieces, and gives the pages back.
func (v *volume) fill(pages int) error {
	file, err := os.OpenFile(filepath.Join(v.dir, "filler"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	end := int64(0)
	for piece := int64(64 << 20); piece >= 4096; {
		if err := unix.Fallocate(int(file.Fd()), 0, end, piece); err != nil {
			piece /= 2
			continue
		}
		end += piece
	}
	if err := file.Truncate(max(end-int64(pages)*4096, 0)); err != nil {
		return err
	}
	return v.sync()
}

func (w *worker) full(x *subject, f filesystem, pages, from int) error {
	v, err := w.space(x, f)
	if err != nil {
		return err
	}
	defer v.drop()
	var failed error
	if from == 0 {
		failed = v.fill(pages)
	}
	e, err := w.traced(v.root(), func(c trace.Call) trace.Action {
		if from > 0 && c.Index == from {
			failed = v.fill(pages)
		}
		return trace.Action{}
	}, x.compact(v.root())...)
	if err != nil || failed != nil {
		return fmt.Errorf("%v: fill: %v, %w", e, failed, err)
	}
	if err := w.fullTold(x, v, e); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(v.dir, "filler")); err != nil {
		return err
	}
	if err := v.sync(); err != nil {
		return err
	}
	return w.settle(x, v.root())
}

// fullTold checks what a run on a full disk says and leaves.
func (w *worker) fullTold(x *subject, v *volume, e ended) error {
	left, err := leftovers(v.root())
	switch {
	case err != nil:
		return err
	case e.code == 0:
		return x.is(v.root(), x.new)
	case e.code != 16:
		return fmt.Errorf("want exit 16: %v", e)
	case len(left) == 0 && !strings.Contains(e.err, "nothing was changed"):
		return fmt.Errorf("it does not say that nothing was changed: %v", e)
	case len(left) > 0 && !strings.Contains(e.err, "lace resume "+v.root()):
		return fmt.Errorf("it leaves %v and no word on what to do: %v", left, e)
	}
	// What can be seen can be seen on a full disk.
	return w.succeeds("inspect", v.root(), "-q")
}

func (w *worker) noInode(x *subject, f filesystem) error {
	v, err := w.space(x, f)
	if err != nil {
		return err
	}
	defer v.drop()
	dir := filepath.Join(v.dir, "many")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for i := 0; ; i++ {
		file, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			break // there is none left
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	e, err := w.traced(v.root(), nothing, x.compact(v.root())...)
	if err != nil {
		return err
	}
	if err := w.fullTold(x, v, e); err != nil {
		return err
	}
	if e.code == 0 {
		return fmt.Errorf("no free inode, but %v", e)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return w.settle(x, v.root())
}
