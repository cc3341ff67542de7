package move

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// writeJournal durably copies the overlapping rows of a batch before the first
// write into its destination.
func (m *Mover) writeJournal(b batch, from place) error {
	// The state has durably passed the rows of the journal that is there, so
	// it is stale. Removing it first keeps to one journal's bytes at a time.
	if err := m.RemoveJournal(); err != nil {
		return err
	}
	// Set before the outcome is known: after a failure it may be there.
	m.journaled = true
	var written uint64
	// Without this, a power cut in the middle of the writes would leave rows
	// whose old place is half overwritten and whose new place is half written.
	err := vfs.Replace(m.cfg.FS, m.cfg.Dir, root.Journal, func(w io.Writer) error {
		w = m.cfg.Pace.writer(w)
		head := format.JournalHeader{First: b.first}.AppendTo(nil)
		if _, err := w.Write(head); err != nil {
			return err
		}
		written = format.JournalHeaderLen
		return m.reader.each(b.first, b.overlapEnd, from, func(p piece) error {
			if p.at == 0 {
				if err := checkGlyph(p); err != nil {
					return m.corrupt(p.index, p.row, err.Error())
				}
				head = format.JournalEntry{Index: p.index}.AppendTo(head[:0])
				if _, err := w.Write(head); err != nil {
					return err
				}
				written += format.JournalEntryLen
			}
			written += uint64(len(p.bytes))
			m.stats.Journaled += uint64(len(p.bytes))
			_, err := w.Write(p.bytes)
			return err
		})
	})
	m.stats.Written += written
	if err != nil {
		return m.wrap(root.Journal, err)
	}
	return nil
}

// RemoveJournal durably removes a journal that the state has passed.
func (m *Mover) RemoveJournal() error {
	if !m.journaled {
		return nil
	}
	path := filepath.Join(m.cfg.Dir, root.Journal)
	if err := vfs.RemoveIfPresent(m.cfg.FS, path); err != nil {
		return m.wrap(root.Journal, err)
	}
	// Without this, the removal could survive a power cut that the next
	// journal, or the removal of the state in step F, does not.
	if err := m.cfg.FS.SyncDir(m.cfg.Dir); err != nil {
		return m.wrap(root.Journal, fmt.Errorf("sync directory: %w", err))
	}
	m.journaled = false
	return nil
}

// liveJournal is the journal of the interrupted batch, found complete: it has
// the bytes of the plan rows [first, end).
type liveJournal struct {
	file       vfs.File
	first, end format.RowIndex
	firstRow   format.PlanRow
}

// offset returns where the bytes of a row in [first, end) begin.
func (j *liveJournal) offset(i format.RowIndex, r format.PlanRow) int64 {
	return format.JournalOffset(j.first, j.firstRow, i, r)
}

// openJournal returns the live journal for the effective cursor c, or nil when
// there is none or it is a stale one of an earlier batch. A journal of a later
// batch, and one that is not exactly complete, are CorruptStore.
func (m *Mover) openJournal(c format.RowIndex) (*liveJournal, error) {
	f, err := m.cfg.FS.OpenFile(filepath.Join(m.cfg.Dir, root.Journal), vfs.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, m.wrap(root.Journal, err)
	}
	m.journaled = true
	j, err := m.parseJournal(f, c)
	if err != nil || j == nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// CheckJournal checks that a journal which is there is one that a resume at
// this cursor takes, or passes over. It reads no bytes of rows.
func (m *Mover) CheckJournal(cursor format.RowIndex) error {
	c, err := m.cfg.Plan.EffectiveCursor(cursor)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	j, err := m.openJournal(c)
	if err != nil || j == nil {
		return err
	}
	return j.file.Close()
}

func (m *Mover) parseJournal(f vfs.File, c format.RowIndex) (*liveJournal, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, m.wrap(root.Journal, err)
	}
	if info.Size < format.JournalHeaderLen {
		return nil, m.badJournal("offset 0", fmt.Sprintf("%d bytes", info.Size), "a header of 8")
	}
	var word [format.JournalHeaderLen]byte
	if _, err := f.ReadAt(word[:], 0); err != nil {
		return nil, m.wrap(root.Journal, err)
	}
	header, err := format.DecodeJournalHeader(word[:])
	if err != nil {
		return nil, m.badJournal("offset 0", err.Error(), "")
	}
	if header.First < c {
		return nil, nil
	}
	if header.First > c || c >= m.cfg.Plan.Rows() {
		return nil, m.badJournal("offset 0", fmt.Sprintf("the journal of row %d", header.First), fmt.Sprintf("row %d at most", c))
	}
	j := &liveJournal{file: f, first: c, end: c}
	for at := int64(format.JournalHeaderLen); at < info.Size; j.end++ {
		if at, err = m.parseEntry(j, at, info.Size); err != nil {
			return nil, err
		}
	}
	if j.end == j.first {
		return nil, m.badJournal("offset 8", "no rows", "at least one")
	}
	return j, nil
}

// parseEntry checks that the journal goes on at offset at with the whole of
// plan row j.end, and returns the offset behind it.
func (m *Mover) parseEntry(j *liveJournal, at, size int64) (int64, error) {
	where := fmt.Sprintf("offset %d", at)
	if j.end >= m.cfg.Plan.Rows() {
		return 0, m.badJournal(where, "bytes behind the last plan row", "")
	}
	r, err := m.cfg.Plan.Row(j.end)
	if err != nil {
		return 0, m.wrap(root.Plan, err)
	}
	if j.end == j.first {
		j.firstRow = r
	}
	if size-at < format.JournalEntryLen || uint64(size-at-format.JournalEntryLen) < r.Len {
		return 0, m.badJournal(where, fmt.Sprintf("%d bytes", size-at), fmt.Sprintf("row %d of %d bytes", j.end, r.Len))
	}
	var word [format.JournalEntryLen]byte
	if _, err := j.file.ReadAt(word[:], at); err != nil {
		return 0, m.wrap(root.Journal, err)
	}
	entry, err := format.DecodeJournalEntry(word[:])
	if err != nil {
		return 0, m.badJournal(where, err.Error(), "")
	}
	if entry.Index != j.end {
		return 0, m.badJournal(where, fmt.Sprintf("row index %d", entry.Index), fmt.Sprintf("row %d", j.end))
	}
	return at + format.JournalEntryLen + int64(r.Len), nil
}

func (m *Mover) badJournal(where, found, want string) error {
	return &store.Error{
		Kind: store.CorruptStore, Doing: "resume", Root: m.cfg.Dir, Path: filepath.Join(m.cfg.Dir, root.Journal),
		Where: where, Found: found, Want: want, Hint: "nothing was changed; lace inspect " + m.cfg.Dir,
	}
}
