package move

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Recover redoes the batch that an interruption may have left half done, from
// its sources, and returns the row that Run goes on with. The caller has synced
// the directory before it looked at any file (design page compaction.md).
func (m *Mover) Recover(cursor format.RowIndex) (next format.RowIndex, err error) {
	c, err := m.cfg.Plan.EffectiveCursor(cursor)
	if err != nil {
		return 0, m.wrap(root.Plan, err)
	}
	if err := m.checkCursor(cursor); err != nil {
		return 0, err
	}
	if err := m.report(c); err != nil {
		return 0, err
	}
	j, err := m.openJournal(c)
	if err != nil {
		return 0, err
	}
	if j == nil {
		return m.redoFromArena(c)
	}
	next, err = m.redoFromJournal(j)
	return next, errors.Join(err, j.file.Close())
}

// checkCursor checks that the last row that the state counts as moved begins
// with its glyph line at its new place. A cursor that is too far would lose
// every row that it skips.
func (m *Mover) checkCursor(cursor format.RowIndex) error {
	if cursor == 0 {
		return nil
	}
	r, err := m.cfg.Plan.Row(cursor - 1)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	ok, err := hasGlyph(m.cfg.Arena, int64(r.OffsetNew), r)
	if err != nil {
		return m.wrap(root.Records, err)
	}
	if !ok {
		return m.corrupt(cursor-1, r, fmt.Sprintf("the state counts this row as moved (cursor %d), but its new place does not hold it", cursor))
	}
	return nil
}

// redoFromArena redoes a batch without live journal: every row from the cursor
// on still has its old range, unless something else went wrong.
func (m *Mover) redoFromArena(c format.RowIndex) (format.RowIndex, error) {
	if c == m.cfg.Plan.Rows() {
		return c, nil
	}
	b, err := m.cfg.Plan.cut(c, m.cfg.WorthGap)
	if err != nil {
		return 0, m.wrap(root.Plan, err)
	}
	found, err := m.resolveAll(b.first, b.end, nil)
	if err != nil {
		return 0, err
	}
	return b.end, m.move(b, func(i format.RowIndex, r format.PlanRow) uint64 {
		if found.at(i, atOldPlace) == atDestination {
			return r.OffsetNew
		}
		return r.OffsetOld
	})
}

// redoFromJournal writes exactly the journaled rows to their destinations. The
// rest of the interrupted batch has its old ranges untouched, wherever that
// batch ended, so that any cut is safe from there on.
func (m *Mover) redoFromJournal(j *liveJournal) (format.RowIndex, error) {
	found, err := m.resolveAll(j.first, j.end, j)
	if err != nil {
		return 0, err
	}
	if len(found) > 0 {
		if err := m.mendJournal(j, found); err != nil {
			return 0, err
		}
	}
	out := outWriter{m: m, offset: j.firstRow.OffsetNew}
	for i := j.first; i < j.end; i++ {
		r, err := m.cfg.Plan.Row(i)
		if err != nil {
			return 0, m.wrap(root.Plan, err)
		}
		in, at := m.source(found.at(i, inJournal), i, r, j)
		if err := m.pieces(in, at, r.Len, out.write); err != nil {
			return 0, m.wrap(root.Records, err)
		}
	}
	if err := out.flush(); err != nil {
		return 0, m.wrap(root.Records, err)
	}
	return j.end, m.settle(j.end)
}

// mendJournal durably replaces a live journal in which some copies are damaged
// by one that is whole (seed 000: recovery rewrites that batch's journal).
// Without this, a crash while such a row is written over its own old range
// would leave no whole copy of it. Nothing was written yet, and the replacement
// is atomic, so that the journal is live at every moment.
func (m *Mover) mendJournal(j *liveJournal, found sources) error {
	err := vfs.Replace(m.cfg.FS, m.cfg.Dir, root.Journal, func(w io.Writer) error {
		w = m.cfg.Pace.writer(w)
		if _, err := w.Write(format.JournalHeader{First: j.first}.AppendTo(nil)); err != nil {
			return err
		}
		for i := j.first; i < j.end; i++ {
			r, err := m.cfg.Plan.Row(i)
			if err != nil {
				return err
			}
			if _, err := w.Write(format.JournalEntry{Index: i}.AppendTo(nil)); err != nil {
				return err
			}
			in, at := m.source(found.at(i, inJournal), i, r, j)
			err = m.pieces(in, at, r.Len, func(b []byte) error {
				_, err := w.Write(b)
				return err
			})
			if err != nil {
				return err
			}
			m.stats.Journaled += r.Len
			m.stats.Written += r.Len + format.JournalEntryLen
		}
		return nil
	})
	if err != nil {
		return m.wrap(root.Journal, err)
	}
	return nil
}

// rowSource says where a row of the interrupted batch verifies.
type rowSource uint8

const (
	inJournal rowSource = iota
	atOldPlace
	atDestination // the last resort: nothing proves that it is on the disk
)

// sources has the rows that were not found at the first place tried, so that
// it stays small whatever the size of a batch.
type sources map[format.RowIndex]rowSource

func (s sources) at(i format.RowIndex, first rowSource) rowSource {
	if found, ok := s[i]; ok {
		return found
	}
	return first
}

// resolveAll finds the source of each of the rows [lo, hi) by its full typed
// hash, before anything is written.
func (m *Mover) resolveAll(lo, hi format.RowIndex, j *liveJournal) (sources, error) {
	if err := m.dropCaches(lo, hi); err != nil {
		return nil, err
	}
	tries := []rowSource{inJournal, atOldPlace, atDestination}
	if j == nil {
		tries = tries[1:]
	}
	found := sources{}
	for i := lo; i < hi; i++ {
		r, err := m.cfg.Plan.Row(i)
		if err != nil {
			return nil, m.wrap(root.Plan, err)
		}
		source, err := m.resolve(i, r, j, tries)
		if err != nil {
			return nil, err
		}
		if source != tries[0] {
			found[i] = source
		}
	}
	return found, nil
}

// dropCaches asks the system to read the rows [lo, hi) from the disk, where
// they lie and where they go. Safety does not depend on it.
func (m *Mover) dropCaches(lo, hi format.RowIndex) error {
	first, err := m.cfg.Plan.Row(lo)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	last, err := m.cfg.Plan.Row(hi - 1)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	// The pages at the edges are wanted too, and only whole pages are dropped.
	// That the advice is refused changes nothing.
	for _, span := range [][2]uint64{{first.OffsetNew, last.EndNew()}, {first.OffsetOld, last.EndOld()}} {
		lo := span[0] / dropUnit * dropUnit
		hi := (span[1] + dropUnit - 1) / dropUnit * dropUnit
		_ = m.cfg.Arena.DropCache(int64(lo), int64(hi-lo))
	}
	return nil
}

// dropUnit is a multiple of the page size of every system, in bytes.
const dropUnit = 1 << 16

// resolve finds the source of one row among the places to try, in order.
func (m *Mover) resolve(i format.RowIndex, r format.PlanRow, j *liveJournal, tries []rowSource) (rowSource, error) {
	for _, source := range tries {
		in, at := m.source(source, i, r, j)
		err := m.verify(in, at, r)
		if err == nil {
			if source == atDestination {
				m.stats.Trusted = append(m.stats.Trusted, uint64(i))
			}
			return source, nil
		}
		if !errors.Is(err, record.ErrHashMismatch) {
			return 0, m.wrap(root.Records, err)
		}
	}
	source, begins, err := m.intactGlyph(i, r, j, tries)
	if err != nil {
		return 0, m.wrap(root.Records, err)
	}
	if begins && m.cfg.CarryDamaged {
		m.stats.Damaged = append(m.stats.Damaged, uint64(i))
		return source, nil
	}
	corrupt := m.corrupt(i, r, "neither the journal, nor the old place, nor the new place holds this record")
	corrupt.Hint = "nothing was written; its glyph line is damaged, and no store opens a root with such a record: restore the root from a backup"
	if begins {
		corrupt.Hint = "nothing was written; if this record was damaged before, lace resume " + m.cfg.Dir + " --carry-damaged moves it as it is"
	}
	return 0, corrupt
}

// intactGlyph finds the first source, the destination aside, that begins with
// the glyph line of a row: its record was damaged before it was to move.
func (m *Mover) intactGlyph(i format.RowIndex, r format.PlanRow, j *liveJournal, tries []rowSource) (rowSource, bool, error) {
	for _, source := range tries {
		if source == atDestination {
			continue
		}
		in, at := m.source(source, i, r, j)
		if ok, err := hasGlyph(in, at, r); ok || err != nil {
			return source, ok, err
		}
	}
	return 0, false, nil
}

// hasGlyph reports whether the glyph line of a row lies at an offset.
func hasGlyph(in io.ReaderAt, at int64, r format.PlanRow) (bool, error) {
	glyph := make([]byte, min(record.GlyphLen, r.Len))
	if n, err := in.ReadAt(glyph, at); err != nil && (n < len(glyph) || !errors.Is(err, io.EOF)) {
		return false, fmt.Errorf("read the glyph line at offset %d: %w", at, err)
	}
	got, err := record.ParseGlyphLine(glyph)
	return err == nil && got == r.Hash, nil
}

func (m *Mover) source(s rowSource, i format.RowIndex, r format.PlanRow, j *liveJournal) (io.ReaderAt, int64) {
	switch s {
	case inJournal:
		return j.file, j.offset(i, r)
	case atOldPlace:
		return m.cfg.Arena, int64(r.OffsetOld)
	default:
		return m.cfg.Arena, int64(r.OffsetNew)
	}
}

// verify hashes a whole row in pieces.
func (m *Mover) verify(in io.ReaderAt, at int64, r format.PlanRow) error {
	if m.verifier == nil {
		m.verifier = record.NewVerifier(r.Hash)
	}
	m.verifier.Reset(r.Hash)
	err := m.pieces(in, at, r.Len, func(b []byte) error {
		_, err := m.verifier.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	return m.verifier.Check()
}

// pieces reads [at, at+n) through the shared buffer.
func (m *Mover) pieces(in io.ReaderAt, at int64, n uint64, emit func(b []byte) error) error {
	in = m.cfg.Pace.reader(in)
	for done := uint64(0); done < n; {
		b := m.reader.buf[:min(uint64(len(m.reader.buf)), n-done)]
		if _, err := in.ReadAt(b, at+int64(done)); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read %d bytes at offset %d: %w", len(b), at+int64(done), err)
		}
		if err := emit(b); err != nil {
			return err
		}
		done += uint64(len(b))
	}
	return nil
}
