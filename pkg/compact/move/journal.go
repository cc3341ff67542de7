package move

import (
	"encoding/binary"
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

// Sizes of the parts of a journal, in bytes.
const (
	journalHeaderLen = 8
	journalIndexLen  = 8
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
	err := vfs.Replace(m.cfg.FS, m.cfg.Dir, root.Journal, func(w io.Writer) error {
		head := binary.LittleEndian.AppendUint64(nil, uint64(b.first))
		if _, err := w.Write(head); err != nil {
			return err
		}
		written = journalHeaderLen
		return m.reader.each(b.first, b.overlapEnd, from, func(p piece) error {
			if p.at == 0 {
				if err := checkGlyph(p); err != nil {
					return m.corrupt(p.index, p.row, err.Error())
				}
				head = binary.LittleEndian.AppendUint64(head[:0], uint64(p.index))
				if _, err := w.Write(head); err != nil {
					return err
				}
				written += journalIndexLen
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
	if err := m.cfg.FS.SyncDir(m.cfg.Dir); err != nil {
		return m.wrap(root.Journal, fmt.Errorf("sync directory: %w", err))
	}
	m.journaled = false
	return nil
}

// liveJournal is the journal of the interrupted batch, found complete: entry
// i, of plan row first+i, has its bytes at offsets[i].
type liveJournal struct {
	file    vfs.File
	first   format.RowIndex
	offsets []int64
}

func (j *liveJournal) end() format.RowIndex { return j.first + format.RowIndex(len(j.offsets)) }

// openJournal returns the live journal for the effective cursor c, or nil when
// there is none or it is a stale one of an earlier batch. A journal of a later
// batch, and one that is not exactly complete, are CorruptStore.
func (m *Mover) openJournal(c format.RowIndex) (*liveJournal, error) {
	path := filepath.Join(m.cfg.Dir, root.Journal)
	f, err := m.cfg.FS.OpenFile(path, vfs.ReadOnly)
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

func (m *Mover) parseJournal(f vfs.File, c format.RowIndex) (*liveJournal, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, m.wrap(root.Journal, err)
	}
	var word [8]byte
	if info.Size < journalHeaderLen {
		return nil, m.badJournal("offset 0", fmt.Sprintf("%d bytes", info.Size), "a header of 8")
	}
	if _, err := f.ReadAt(word[:], 0); err != nil {
		return nil, m.wrap(root.Journal, err)
	}
	first := format.RowIndex(binary.LittleEndian.Uint64(word[:]))
	if first < c {
		return nil, nil
	}
	if first > c || c >= m.cfg.Plan.Rows() {
		return nil, m.badJournal("offset 0", fmt.Sprintf("the journal of row %d", first), fmt.Sprintf("row %d at most", c))
	}
	j := &liveJournal{file: f, first: first}
	for at := int64(journalHeaderLen); at < info.Size; {
		i := j.end()
		if i >= m.cfg.Plan.Rows() {
			return nil, m.badJournal(fmt.Sprintf("offset %d", at), "bytes behind the last plan row", "")
		}
		r, err := m.cfg.Plan.Row(i)
		if err != nil {
			return nil, m.wrap(root.Plan, err)
		}
		if info.Size-at < journalIndexLen || uint64(info.Size-at-journalIndexLen) < r.Len {
			return nil, m.badJournal(fmt.Sprintf("offset %d", at), fmt.Sprintf("%d bytes", info.Size-at), fmt.Sprintf("row %d of %d bytes", i, r.Len))
		}
		if _, err := f.ReadAt(word[:], at); err != nil {
			return nil, m.wrap(root.Journal, err)
		}
		if got := binary.LittleEndian.Uint64(word[:]); got != uint64(i) {
			return nil, m.badJournal(fmt.Sprintf("offset %d", at), fmt.Sprintf("row index %d", got), fmt.Sprintf("row %d", i))
		}
		j.offsets = append(j.offsets, at+journalIndexLen)
		at += journalIndexLen + int64(r.Len)
	}
	if len(j.offsets) == 0 {
		return nil, m.badJournal("offset 8", "no rows", "at least one")
	}
	return j, nil
}

func (m *Mover) badJournal(where, found, want string) error {
	return &store.Error{
		Kind: store.CorruptStore, Doing: "resume", Root: m.cfg.Dir, Path: filepath.Join(m.cfg.Dir, root.Journal),
		Where: where, Found: found, Want: want, Hint: "nothing was changed; lace inspect " + m.cfg.Dir,
	}
}
