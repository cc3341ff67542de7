package compacttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// Dir is where the roots of the tests are.
const Dir = "/root"

// History is a shape under events. It can be forked at any point by copying.
type History struct {
	subject Subject
	shape   *Shape
	fs      *crashfs.FS
	state   State
	runs    int
	wrap    func(vfs.FS) vfs.FS
	// mayFail says that a write-back failed unheard: the next sync of that file
	// reports it, which ends one more run.
	mayFail bool
	// onlyLosses is Options.OnlyLosses.
	onlyLosses bool
	// shutDown says that the last event was a failed sync of a directory.
	shutDown bool
	// scratch is for files that are compared and forgotten. Forks share it.
	scratch []byte
}

// Begin builds the root of a shape. A wrap that is not nil is put around the
// file system that the subject sees.
func Begin(subject Subject, shape *Shape, wrap func(vfs.FS) vfs.FS) (History, error) {
	fsys := crashfs.New(shape.FS)
	if err := subject.Build(fsys, Dir, shape.Records); err != nil {
		return History{}, fmt.Errorf("build shape %d: %w", shape.Seed, err)
	}
	if err := fsys.SyncDir("/"); err != nil {
		return History{}, err
	}
	if wrap == nil {
		wrap = func(fsys vfs.FS) vfs.FS { return fsys }
	}
	// What is not durable now would be a fault of Build, not of a compaction.
	h := History{subject: subject, shape: shape, fs: fsys.Crash(crashfs.None()), state: State{Shape: shape.Seed}, wrap: wrap, scratch: make([]byte, mostRead)}
	return h, h.CheckOpen()
}

// Adopt is a History of a root of the shape that is in fsys already.
func Adopt(subject Subject, shape *Shape, fsys *crashfs.FS) *History {
	return &History{
		subject: subject, shape: shape, fs: fsys, state: State{Shape: shape.Seed}, scratch: make([]byte, mostRead),
		wrap: func(fsys vfs.FS) vfs.FS { return fsys },
	}
}

// State returns the shape and events so far.
func (h *History) State() State { return h.state }

// run is the next run, on a file system that may be struck.
func (h *History) run(fsys *crashfs.FS) (compact.Report, error) {
	watched := &watch{FS: fsys}
	defer func() { h.shutDown = watched.dirFailed }()
	return h.Step(h.wrap(watched))
}

// Step compacts, or resumes what an earlier run left, as the root in fsys needs
// it.
func (h *History) Step(fsys vfs.FS) (compact.Report, error) {
	h.runs++
	settings := h.shape.Settings(h.runs)
	log, err := h.readAll(fsys, root.RecordLog)
	if err != nil {
		return compact.Report{}, err
	}
	// A root that is wholly old may be one without an interrupted compaction,
	// and resume would find nothing to do. Compact resumes too.
	if h.shape.isOld(log) && (h.runs%2 == 1 || !hasState(fsys)) {
		return h.subject.Compact(context.Background(), fsys, Dir, h.shape.Set(), settings)
	}
	return h.subject.Resume(context.Background(), fsys, Dir, settings)
}

func hasState(fsys vfs.FS) bool {
	_, err := fsys.Stat(filepath.Join(Dir, root.State))
	return err == nil
}

// Calls counts the calls that a run makes now which change something.
func (h *History) Calls() (int, error) {
	fork := *h
	fsys := h.fs.Clone()
	_, err := fork.run(fsys)
	return fsys.Calls(), err
}

// Strike lets an event happen to the next run. It returns false when the run
// made fewer calls than that, and is done. The machine is not up again before
// Settle.
func (h *History) Strike(e Event) (hit bool, err error) {
	h.state.Events = append(h.state.Events[:len(h.state.Events):len(h.state.Events)], e)
	fsys := h.fs.Clone()
	if e.Kind == Sync || e.Kind == SyncPower {
		fsys.FailSync(e.At, e.Lie, e.Seed)
	} else {
		fsys.CrashAt(e.At)
	}
	report, err := h.run(fsys)
	h.fs = fsys
	hit = fsys.Crashed() || fsys.SyncFailed()
	switch {
	case hit && err == nil && h.onlyLosses && fsys.SyncFailed():
		return true, h.checkFinished()
	case hit && err == nil:
		return true, fmt.Errorf("the run ended well (%s) although it was struck", report.Outcome)
	case !hit && err != nil && !h.mayFail:
		return false, fmt.Errorf("a run that nothing struck: %w", err)
	case !hit && err != nil:
		h.mayFail = false
		return true, nil
	}
	return hit, nil
}

// Settle brings the machine up again after a Strike, and checks that the root
// is refused, wholly old or wholly new.
func (h *History) Settle() error {
	e := h.state.Events[len(h.state.Events)-1]
	switch e.Kind {
	case Power, SyncPower:
		h.fs = h.fs.Crash(e.Survivors)
		h.mayFail = false
	case Kill:
		h.fs = h.fs.Clone()
	case Lose:
		h.fs = h.fs.Clone()
		h.fs.LoseWriteback(e.Seed, e.Seed%2 == 1)
		h.mayFail = h.mayFail || e.Seed%2 == 1
		if e.Seed/2%2 == 1 {
			h.fs.Evict(e.Seed)
		}
	case Sync:
		if h.shutDown {
			h.fs = h.fs.Crash(crashfs.Random(e.Seed))
			h.mayFail = false
			break
		}
		h.fs = h.fs.Clone()
		if e.Seed%2 == 1 {
			h.fs.Evict(e.Seed)
		}
	}
	return h.CheckOpen()
}

// survivors returns a fork of the history whose last event, a power cut, has
// other survivors.
func (h *History) survivors(s crashfs.Survivors) History {
	fork := *h
	fork.state.Events = append([]Event{}, h.state.Events...)
	fork.state.Events[len(fork.state.Events)-1].Survivors = s
	return fork
}

// CheckOpen checks ordinary open, on the machine as it is and on its disk.
func (h *History) CheckOpen() error {
	if err := h.checkOpen(h.fs.Clone()); err != nil {
		return err
	}
	if err := h.checkOpen(h.fs.Crash(crashfs.None())); err != nil {
		return fmt.Errorf("on the disk: %w", err)
	}
	return nil
}

func (h *History) checkOpen(fsys *crashfs.FS) error {
	err := h.subject.Open(context.Background(), fsys, Dir)
	if errors.Is(err, store.NeedsResume) {
		var known *store.Error
		if !errors.As(err, &known) || known.Hint == "" {
			return fmt.Errorf("open is refused without a hint: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	log, err := h.readAll(fsys, root.RecordLog)
	if err != nil {
		return err
	}
	switch {
	case h.shape.isNew(log):
		return h.checkNew(fsys)
	case h.shape.isOld(log):
		return h.checkArena(fsys, h.shape.oldArena)
	}
	return fmt.Errorf("open takes a record-log of %d bytes that is neither old nor new", len(log))
}

// Finish resumes and checks that the root is wholly new, also on the disk.
func (h *History) Finish() error {
	for {
		fsys := h.fs.Clone()
		report, err := h.run(fsys)
		h.fs = fsys
		if err == nil {
			return errors.Join(h.checkReport(report), h.checkFinished())
		}
		if !h.mayFail {
			return fmt.Errorf("resume: %w", err)
		}
		h.mayFail = false
		h.fs = fsys.Clone()
	}
}

func (h *History) checkFinished() error {
	for name, fsys := range map[string]*crashfs.FS{"": h.fs.Clone(), " on the disk": h.fs.Crash(crashfs.None())} {
		log, err := h.readAll(fsys, root.RecordLog)
		if err != nil {
			return err
		}
		if !h.shape.isNew(log) {
			return fmt.Errorf("finished, but record-log%s is not the new one", name)
		}
		err = h.subject.Open(context.Background(), fsys, Dir)
		if err = errors.Join(err, h.checkNew(fsys)); err != nil {
			return fmt.Errorf("finished, but%s: %w", name, err)
		}
	}
	return nil
}

// checkReport checks what the plan determines.
func (h *History) checkReport(r compact.Report) error {
	if r.Outcome == compact.NothingToDo { // the compaction was done before
		return nil
	}
	if len(r.TrustedRows) > 0 && !h.lied() && !h.onlyLosses {
		// What destinations alone can prove is a last resort after a lying cache.
		return fmt.Errorf("rows %v were taken from their new place although the disk was honest", r.TrustedRows)
	}
	s := h.shape
	want := compact.Report{
		Boundary: store.Position(len(s.rows)),
		Retained: compact.Count{Records: s.Set().Count(), Bytes: uint64(len(s.newArena))},
		Released: uint64(len(s.oldArena) - len(s.newArena)),
	}
	want.Removed = compact.Count{Records: uint64(len(s.rows)) - want.Retained.Records, Bytes: want.Released}
	if r.Release == compact.Unsupported {
		want.Released = 0
	}
	if want.Digest = s.wantedDigest(); r.Digest != want.Digest && (r.Outcome != compact.Resumed || r.Digest != [32]byte{}) {
		return fmt.Errorf("digest %x, want %x", r.Digest, want.Digest)
	}
	if r.Boundary != want.Boundary || r.Retained != want.Retained || r.Removed != want.Removed || r.Released != want.Released {
		return fmt.Errorf("report %+v, want %+v", r, want)
	}
	return nil
}

func (h *History) checkNew(fsys *crashfs.FS) error {
	for _, name := range append(root.CompactionEntries(), root.Indexes) {
		if _, err := fsys.Stat(filepath.Join(Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the new root has %s (%v)", name, err)
		}
	}
	if err := h.checkArena(fsys, h.shape.newArena); err != nil {
		return err
	}
	if h.shape.FS.NoPunch || h.lied() {
		return nil
	}
	arena, err := h.readAll(fsys, root.Records)
	if err != nil {
		return err
	}
	if len(bytes.TrimLeft(arena[len(h.shape.newArena):], "\x00")) > 0 {
		return errors.New("the tail of the new root is not released")
	}
	return nil
}

// lied says that the cache may have shown what was not on the disk. A hole that
// a failed sync lost is one of these things: making it again changes nothing in
// the cache. That costs space, not records.
func (h *History) lied() bool {
	for _, e := range h.state.Events {
		if e.Kind != Power && e.Kind != Kill {
			return true
		}
	}
	return false
}

func (h *History) checkArena(fsys *crashfs.FS, want []byte) error {
	arena, err := h.readAll(fsys, root.Records)
	if err != nil {
		return err
	}
	if len(arena) < len(want) {
		return fmt.Errorf("records has %d bytes, want %d and more", len(arena), len(want))
	}
	if bytes.Equal(arena[:len(want)], want) {
		return nil
	}
	at := 0
	for arena[at] == want[at] {
		at++
	}
	return fmt.Errorf("records differs from byte %d on", at)
}

// mostRead bounds what is read of an arena, in bytes: no shape is larger.
const mostRead = 1 << 15

// readAll reads a file, or the beginning of an arena. What it returns is valid
// until it is called again.
func (h *History) readAll(fsys vfs.FS, name string) (b []byte, err error) {
	f, err := fsys.OpenFile(filepath.Join(Dir, name), vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b = h.scratch[:min(info.Size, mostRead)]
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}
