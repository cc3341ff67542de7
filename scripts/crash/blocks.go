//go:build linux && amd64

package main

import (
	"fmt"
	"sync"
)

// blocksRung records every block write and flush that a compaction makes the
// file system send to its disk, rebuilds the disk as a power cut may have left
// it - everything up to a flush, and behind it a part, in pieces - and mounts
// it, so that the journal of the file system is replayed.
func blocksRung() rung {
	return rung{name: "blocks", root: true, needs: []string{"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mount", "/dev/fuse"}, trials: blocksTrials, mutants: []mutant{
		{"the arena is not synced", "", skipSync("records")},
		{"temporaries are not synced", "", skipSync(".lace-tmp")},
	}}
}

// recording is what reached a disk during a compaction.
type recording struct {
	once  sync.Once
	err   error
	image []byte
	log   []event
	flush []int // places of the flushes in the log
	begin int   // events seen when the compaction began
	done  int   // events seen when it had ended
}

// recordings are made when a trial needs one: with planted faults they differ.
type recordings struct {
	mu  sync.Mutex
	all map[string]*recording
}

func (r *recordings) of(key string) *recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[key] == nil {
		r.all[key] = &recording{}
	}
	return r.all[key]
}

func blocksTrials(g *rig) ([]trial, error) {
	states, random := 100, 0
	if g.long {
		states, random = 500, 2
	}
	if g.n > 0 {
		states = g.n
	}
	subjects, err := newSubjects(g, random)
	if err != nil {
		return nil, err
	}
	kept := &recordings{all: map[string]*recording{}}
	var trials []trial
	for i := range states {
		for _, f := range filesystems() {
			n := i % len(subjects)
			trials = append(trials, trial{fmt.Sprintf("state %d of %s, shape %d", i, f.name, n), func(w *worker) error {
				return w.blocks(subjects[n], f, kept, fmt.Sprintf("%s %d", f.name, n), i)
			}})
		}
	}
	return trials, nil
}

// record runs a compaction on the worker's disk.
func (w *worker) record(x *subject, f filesystem, r *recording) error {
	var err error
	if r.image, err = w.image(x, f); err != nil {
		return err
	}
	b, err := w.benched(r.image)
	if err != nil {
		return err
	}
	// What the mount writes belongs to the state of the disk.
	d := b.disk
	d.record(true)
	v, err := w.mount(b)
	if err != nil {
		return err
	}
	defer v.drop()
	if err := v.sync(); err != nil {
		return err
	}
	r.begin = d.seen()
	e, err := w.traced(v.root(), nothing, x.compact(v.root())...)
	if err != nil {
		return err
	}
	if e.code != 0 {
		return fmt.Errorf("%v", e)
	}
	r.done = d.seen()
	if err := v.unmount(); err != nil {
		return err
	}
	r.log = d.record(false)
	for i, e := range r.log {
		if e.flush && i >= r.begin {
			r.flush = append(r.flush, i)
		}
	}
	return nil
}

// blocks rebuilds one state and checks it.
func (w *worker) blocks(x *subject, f filesystem, kept *recordings, key string, state int) error {
	defer w.alone(f)()
	if w.mutant != nil {
		key += " " + w.mutant.name
	}
	r := kept.of(key)
	r.once.Do(func() { r.err = w.record(x, f, r) })
	if r.err != nil {
		return fmt.Errorf("record: %w", r.err)
	}
	b, err := w.benched(r.image)
	if err != nil {
		return err
	}
	cut, pieces := w.rebuild(b.disk, f, r, state)
	v, err := w.mount(b)
	if err != nil {
		return fmt.Errorf("event %d of %d, %s: %w", cut, len(r.log), pieces, err)
	}
	defer v.drop()
	if cut >= r.done {
		err = x.is(v.root(), x.new)
	}
	if err == nil {
		err = w.settle(x, v.root())
	}
	if err != nil {
		return fmt.Errorf("event %d of %d, %s: %w", cut, len(r.log), pieces, err)
	}
	return nil
}

// rebuild plays the record up to a flush, each in turn, and a part of what
// came between it and the next one.
func (w *worker) rebuild(d *disk, f filesystem, r *recording, state int) (cut int, pieces string) {
	at := state % (len(r.flush) + 1)
	certain, end := r.begin, len(r.log)
	if at > 0 {
		certain = r.flush[at-1] + 1
	}
	if at < len(r.flush) {
		end = r.flush[at]
	}
	cut = certain + w.rand.IntN(end-certain+1)
	for _, e := range r.log[:certain] {
		d.apply(e)
	}
	share := []float64{0, 0.1, 0.5, 0.9, 1}[w.rand.IntN(5)]
	kept, lost := 0, 0
	unit := []int64{sector, 4096}[w.rand.IntN(2)]
	for _, e := range r.log[certain:cut] {
		for _, p := range e.split(unit, f.super) {
			if w.rand.Float64() >= share {
				lost++
				continue
			}
			kept++
			d.apply(p)
		}
	}
	return cut, fmt.Sprintf("%d pieces of %d bytes kept and %d lost behind flush %d", kept, unit, lost, at)
}

// split cuts a write into what a disk writes at once, which is never less than
// the whole superblock. A discard behind the last flush is done or not.
func (e event) split(unit int64, super span) []event {
	if e.data == nil {
		return []event{e}
	}
	var all []event
	for at := int64(0); at < e.len; {
		end := at + unit
		if off := e.off + at; off >= super.off && off < super.off+super.len {
			end = super.off + super.len - e.off
		} else if off < super.off && e.off+end > super.off {
			end = super.off - e.off
		}
		end = min(end, e.len)
		all = append(all, event{off: e.off + at, data: e.data[at:end], len: end - at})
		at = end
	}
	return all
}
