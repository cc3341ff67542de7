package move

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
)

// Recover redoes the batch that an interruption may have left half done, from
// its sources, and returns the row that Run goes on with. The caller has synced
// the directory before it looked at any file (design page compaction.md).
func (m *Mover) Recover(cursor format.RowIndex) (next format.RowIndex, err error) {
	c, err := m.cfg.Plan.EffectiveCursor(cursor)
	if err != nil {
		return 0, m.wrap(root.Plan, err)
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
	atNew := make(map[format.RowIndex]bool)
	for i := b.first; i < b.end; i++ {
		r, err := m.cfg.Plan.Row(i)
		if err != nil {
			return 0, m.wrap(root.Plan, err)
		}
		source, err := m.resolve(i, r, nil)
		if err != nil {
			return 0, err
		}
		if source == atDestination {
			atNew[i] = true
		}
	}
	return b.end, m.move(b, func(i format.RowIndex, r format.PlanRow) uint64 {
		if atNew[i] {
			return r.OffsetNew
		}
		return r.OffsetOld
	})
}

// redoFromJournal writes exactly the journaled rows to their destinations. The
// rest of the interrupted batch has its old ranges untouched, wherever that
// batch ended, so that any cut is safe from there on.
func (m *Mover) redoFromJournal(j *liveJournal) (format.RowIndex, error) {
	sources := make([]rowSource, len(j.offsets))
	for i := range j.offsets {
		index := j.first + format.RowIndex(i)
		r, err := m.cfg.Plan.Row(index)
		if err != nil {
			return 0, m.wrap(root.Plan, err)
		}
		if sources[i], err = m.resolve(index, r, j); err != nil {
			return 0, err
		}
	}
	for i, source := range sources {
		index := j.first + format.RowIndex(i)
		r, err := m.cfg.Plan.Row(index)
		if err != nil {
			return 0, m.wrap(root.Plan, err)
		}
		in, at := m.source(source, index, r, j)
		if err := m.copyRow(in, at, r); err != nil {
			return 0, m.wrap(root.Records, err)
		}
	}
	return j.end(), m.settle(j.end())
}

// rowSource says where a row of the interrupted batch verifies.
type rowSource uint8

const (
	inJournal rowSource = iota
	atOldPlace
	atDestination // the last resort: nothing proves that it is on the disk
)

// resolve finds the source of a row by its full typed hash. Everything is
// resolved before anything is written.
func (m *Mover) resolve(i format.RowIndex, r format.PlanRow, j *liveJournal) (rowSource, error) {
	tries := []rowSource{atOldPlace, atDestination}
	if j != nil {
		tries = []rowSource{inJournal, atOldPlace, atDestination}
	}
	for _, source := range tries {
		in, at := m.source(source, i, r, j)
		err := m.verify(in, at, r)
		if err == nil {
			if source == atDestination && r.Moves() {
				m.stats.Trusted = append(m.stats.Trusted, uint64(i))
			}
			return source, nil
		}
		if !errors.Is(err, record.ErrHashMismatch) {
			return 0, m.wrap(root.Records, err)
		}
	}
	return 0, m.corrupt(i, r, "neither the journal, nor the old place, nor the new place holds this record")
}

func (m *Mover) source(s rowSource, i format.RowIndex, r format.PlanRow, j *liveJournal) (io.ReaderAt, int64) {
	switch s {
	case inJournal:
		return j.file, j.offsets[i-j.first]
	case atOldPlace:
		return m.cfg.Arena, int64(r.OffsetOld)
	default:
		return m.cfg.Arena, int64(r.OffsetNew)
	}
}

// verify hashes a whole row in pieces. Cached pages are dropped first, as far
// as the system takes that advice.
func (m *Mover) verify(in io.ReaderAt, at int64, r format.PlanRow) error {
	if in == io.ReaderAt(m.cfg.Arena) {
		// Advice alone: that it was not taken changes nothing.
		_ = m.cfg.Arena.DropCache(at, int64(r.Len))
	}
	v := record.NewVerifier(r.Hash)
	err := m.pieces(in, at, r.Len, func(_ uint64, b []byte) error {
		_, err := v.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	return v.Check()
}

// copyRow writes a whole row to its destination, piece by piece.
func (m *Mover) copyRow(in io.ReaderAt, at int64, r format.PlanRow) error {
	return m.pieces(in, at, r.Len, func(done uint64, b []byte) error {
		if _, err := m.cfg.Arena.WriteAt(b, int64(r.OffsetNew+done)); err != nil {
			return fmt.Errorf("write %d bytes at offset %d: %w", len(b), r.OffsetNew+done, err)
		}
		m.stats.Moved += uint64(len(b))
		m.stats.Written += uint64(len(b))
		return nil
	})
}

// pieces reads [at, at+n) through the shared buffer.
func (m *Mover) pieces(in io.ReaderAt, at int64, n uint64, emit func(done uint64, b []byte) error) error {
	for done := uint64(0); done < n; {
		b := m.reader.buf[:min(uint64(len(m.reader.buf)), n-done)]
		if _, err := in.ReadAt(b, at+int64(done)); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read %d bytes at offset %d: %w", len(b), at+int64(done), err)
		}
		if err := emit(done, b); err != nil {
			return err
		}
		done += uint64(len(b))
	}
	return nil
}
