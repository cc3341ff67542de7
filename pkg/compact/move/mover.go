package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Defaults of Config, in bytes.
const (
	DefaultBuffer   = 4 << 20
	DefaultWorthGap = 4 << 20
)

// Config is what a Mover works with. Buffer and WorthGap are for tests; their
// zero values mean the defaults.
type Config struct {
	FS    vfs.FS
	Dir   string   // the root directory
	Arena vfs.File // records, open for reading and writing
	Plan  *Plan
	// Buffer is the size of each of the two buffers.
	Buffer int
	// WorthGap is the gap from which on a batch without journal pays.
	WorthGap uint64
	// CarryDamaged lets Recover move a row that no place proves, if its glyph
	// line is intact, as a run that is not interrupted does.
	CarryDamaged bool
	// Pace, unless nil, holds reads and writes back.
	Pace *Pace
	// Progress, unless nil, is told the bytes of rows at their new place.
	Progress func(done, total uint64)
}

// Stats are what a run of a Mover did, in bytes.
type Stats struct {
	Moved     uint64   // of rows written to their new place
	Journaled uint64   // of rows copied to a journal
	Written   uint64   // to any file
	Trusted   []uint64 // plan rows that only their destination could prove
	Damaged   []uint64 // plan rows that were moved although nothing proves them
}

// Mover moves the rows of one plan.
type Mover struct {
	cfg    Config
	reader spanReader
	out    []byte
	stats  Stats
	// verifier is made by the first recovery.
	verifier *record.Verifier
	// journaled says that a journal file exists, live or stale.
	journaled bool
}

// New returns a Mover.
func New(cfg Config) *Mover {
	if cfg.Buffer == 0 {
		cfg.Buffer = DefaultBuffer
	}
	if cfg.WorthGap == 0 {
		cfg.WorthGap = DefaultWorthGap
	}
	return &Mover{
		cfg:    cfg,
		reader: spanReader{arena: cfg.Arena, pace: cfg.Pace, plan: cfg.Plan, buf: make([]byte, cfg.Buffer)},
		out:    make([]byte, 0, cfg.Buffer),
	}
}

// Stats returns what was done so far.
func (m *Mover) Stats() Stats { return m.stats }

// Run moves every row from the cursor on, batch by batch. A done context stops
// it between two batches with an Interrupted error; whatever ends it early
// leaves a root that Recover and Run finish.
func (m *Mover) Run(ctx context.Context, cursor format.RowIndex) error {
	c, err := m.cfg.Plan.EffectiveCursor(cursor)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	for c < m.cfg.Plan.Rows() {
		if err := m.report(c); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return &store.Error{Kind: store.Interrupted, Doing: "compact", Root: m.cfg.Dir, Found: fmt.Sprintf("stopped before row %d of %d", c, m.cfg.Plan.Rows()), Err: err}
		}
		b, err := m.cfg.Plan.cut(c, m.cfg.WorthGap)
		if err != nil {
			return m.wrap(root.Plan, err)
		}
		if err := m.move(b, oldPlace); err != nil {
			return err
		}
		c = b.end
	}
	// The last journal gives its space back before step D wants some.
	if err := m.RemoveJournal(); err != nil {
		return err
	}
	return m.report(c)
}

// move does one batch: journal, writes, sync, state.
func (m *Mover) move(b batch, from place) error {
	// A journal of an earlier batch is in nobody's way, but takes space.
	prepare := m.RemoveJournal
	if b.overlapEnd > b.first {
		prepare = func() error { return m.writeJournal(b, from) }
	}
	if err := prepare(); err != nil {
		return err
	}
	if err := m.writeRows(b.first, b.end, from); err != nil {
		return err
	}
	return m.settle(b.end)
}

// settle makes the writes durable and then says so in the state.
func (m *Mover) settle(end format.RowIndex) error {
	// Without this, the state could be durable before the rows it counts, and
	// a power cut would lose rows whose sources the next batch overwrites.
	if err := m.cfg.Arena.Sync(); err != nil {
		return m.wrap(root.Records, fmt.Errorf("sync: %w", err))
	}
	return m.WriteState(format.State{Phase: format.Move, Cursor: end})
}

// WriteState durably replaces compaction-state.
func (m *Mover) WriteState(s format.State) error {
	text := s.AppendTo(nil)
	// Without a durable cursor before the next batch writes, a power cut would
	// bring back a cursor whose sources are overwritten and not journaled.
	err := vfs.Replace(m.cfg.FS, m.cfg.Dir, root.State, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return m.wrap(root.State, err)
	}
	m.stats.Written += uint64(len(text))
	return nil
}

// writeRows writes the rows [lo, hi) to their new places, in ascending order,
// as one contiguous range in large writes. Each glyph line is checked on the
// way: bytes that are not the row are not worth a new place.
func (m *Mover) writeRows(lo, hi format.RowIndex, from place) error {
	first, err := m.cfg.Plan.Row(lo)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	out := outWriter{m: m, offset: first.OffsetNew}
	err = m.reader.each(lo, hi, from, func(p piece) error {
		if p.at == 0 {
			if err := checkGlyph(p); err != nil {
				return m.corrupt(p.index, p.row, err.Error())
			}
		}
		return out.write(p.bytes)
	})
	if err == nil {
		err = out.flush()
	}
	if err != nil {
		return m.wrap(root.Records, err)
	}
	return nil
}

// checkGlyph checks as much of the glyph line as the first piece of a row
// holds; a buffer that is smaller than a glyph line is for tests alone.
func checkGlyph(p piece) error {
	if uint64(len(p.bytes)) < min(record.GlyphLen, p.row.Len) {
		return nil
	}
	var want [record.GlyphLen]byte
	if bytes.HasPrefix(p.bytes, record.AppendGlyphLine(want[:0], p.row.Hash)) {
		return nil
	}
	got, err := record.ParseGlyphLine(p.bytes)
	if err != nil {
		return err
	}
	return fmt.Errorf("the glyph line of %s", got)
}

// outWriter gathers contiguous bytes into large writes of the arena.
type outWriter struct {
	m      *Mover
	offset uint64 // arena offset of the first gathered byte
}

func (o *outWriter) write(b []byte) error {
	for len(b) > 0 {
		n := min(cap(o.m.out)-len(o.m.out), len(b))
		o.m.out = append(o.m.out, b[:n]...)
		b = b[n:]
		if len(o.m.out) == cap(o.m.out) {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *outWriter) flush() error {
	b := o.m.out
	o.m.out = b[:0]
	if len(b) == 0 {
		return nil
	}
	if _, err := o.m.cfg.Arena.WriteAt(b, int64(o.offset)); err != nil {
		return fmt.Errorf("write %d bytes at offset %d: %w", len(b), o.offset, err)
	}
	// The disk writes while the next span is read; the sync waits for less.
	vfs.StartWriteBack(o.m.cfg.Arena, int64(o.offset), int64(len(b)))
	o.offset += uint64(len(b))
	o.m.stats.Moved += uint64(len(b))
	o.m.stats.Written += uint64(len(b))
	o.m.cfg.Pace.take(len(b))
	return nil
}

// report tells the progress: bytes of rows below row c of those that move.
func (m *Mover) report(c format.RowIndex) error {
	if m.cfg.Progress == nil || m.cfg.Plan.Rows() == 0 {
		return nil
	}
	last, err := m.cfg.Plan.Row(m.cfg.Plan.Rows() - 1)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	done := last.EndNew()
	if c < m.cfg.Plan.Rows() {
		r, err := m.cfg.Plan.Row(c)
		if err != nil {
			return m.wrap(root.Plan, err)
		}
		done = r.OffsetNew
	}
	m.cfg.Progress(done, last.EndNew())
	return nil
}

// wrap adds the file to an error of the file system; errors that are a
// store.Error already stay what they are.
func (m *Mover) wrap(name string, err error) error {
	var known *store.Error
	if errors.As(err, &known) {
		return err
	}
	e := &store.Error{
		Kind: store.Store, Doing: "move rows of", Root: m.cfg.Dir, Path: filepath.Join(m.cfg.Dir, name), Err: err,
		Hint: "nothing was lost; lace resume " + m.cfg.Dir,
	}
	if vfs.NoSpace(err) {
		e.Reason = store.NoSpace
	}
	if errors.Is(err, vfs.ErrNotRegular) {
		e.Kind, e.Hint = store.CorruptStore, "nothing was changed; lace inspect "+m.cfg.Dir
	}
	return e
}

func (m *Mover) corrupt(i format.RowIndex, r format.PlanRow, found string) *store.Error {
	return &store.Error{
		Kind: store.CorruptStore, Doing: "move rows of", Root: m.cfg.Dir, Path: filepath.Join(m.cfg.Dir, root.Records),
		Where: fmt.Sprintf("plan row %d (old offset %d, new offset %d)", i, r.OffsetOld, r.OffsetNew),
		Hash:  r.Hash, Found: found,
		Hint: "nothing further was written; lace verify " + m.cfg.Dir,
	}
}
