package compacttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// misrecoveries break the rules of recovery.
func misrecoveries() []Mutant {
	return []Mutant{
		{Name: "destination trusted by its hash", Breaks: "recovery redoes: the cache may show what the disk does not have", Start: trusting(func(b []byte, r format.PlanRow) bool { return record.VerifyBytes(b, r.Hash) == nil }), First: 17},
		{Name: "destination trusted by its glyph line", Breaks: "a glyph line proves 55 bytes of a row", Start: trusting(glyphIsRight)},
		{Name: "live journal removed to be rewritten", Breaks: "a live journal stays until the state has passed it", Start: atStart(rewriteJournal), First: 89},
		{Name: "cut ends inside a live journal", Breaks: "rule 3: a cut never ends before the last row of a live journal", View: firstJournaledRow, First: 17},
		{Name: "journal header unchecked", Breaks: "the journal of an earlier batch is taken for the live one", View: renumbered},
		{Name: "live journal ignored", Breaks: "rule 2: rows come from the journal first", View: withoutJournal},
		{Name: "temporary taken up", Breaks: "a temporary of another run is never believed", Start: atStart(takeUp)},
		{Name: "publication believed", Breaks: "rule 5, and rule 1 with it: a log that looks published may not be on the disk", Start: publicationBelieved, Deep: true, First: 3},
		{Name: "cursor believed one row too far", Breaks: "rows count as moved that are not", Start: atStart(cursorTooFar)},
	}
}

func crashed(err error) bool { return errors.Is(err, crashfs.ErrCrashed) }

func readPlan(base vfs.FS) ([]format.PlanRow, error) {
	b, err := readFile(base, at(root.Plan))
	if err != nil || len(b) < format.PlanHeaderLen {
		return nil, err
	}
	var rows []format.PlanRow
	for b = b[format.PlanHeaderLen:]; len(b) >= format.PlanRowLen; b = b[format.PlanRowLen:] {
		row, err := format.DecodePlanRow(b)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// journalEnds returns where each journaled row ends in a journal.
func journalEnds(journal []byte, plan []format.PlanRow) (first int, ends []int64) {
	if len(journal) < format.JournalHeaderLen {
		return 0, nil
	}
	first = int(binary.LittleEndian.Uint64(journal))
	for end := format.JournalHeaderLen; end < len(journal) && first+len(ends) < len(plan); {
		end += format.JournalEntryLen + int(plan[first+len(ends)].Len)
		ends = append(ends, int64(end))
	}
	return first, ends
}

// dropLastJournaled cuts the last row off a journal that is about to be
// renamed; one row alone stays, because a journal without rows is refused.
func dropLastJournaled(base vfs.FS, _ Step) error {
	plan, err := readPlan(base)
	if err != nil {
		return err
	}
	temp := at(root.Journal + vfs.TempSuffix)
	journal, err := readFile(base, temp)
	if err != nil {
		return err
	}
	_, ends := journalEnds(journal, plan)
	if len(ends) < 2 {
		return nil
	}
	f, err := base.OpenFile(temp, vfs.ReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(ends[len(ends)-2]), f.Sync(), f.Close())
}

func glyphIsRight(b []byte, r format.PlanRow) bool {
	got, err := record.ParseGlyphLine(b)
	return err == nil && got == r.Hash
}

// trusting passes over the writes of rows whose destination looked right when
// the resume began.
func trusting(right func([]byte, format.PlanRow) bool) func(vfs.FS) Tamperer {
	return func(base vfs.FS) Tamperer {
		resumed := present(base, root.State)
		judged := false
		var moved []format.PlanRow
		return func(s Step, do func() error) error {
			if !resumed || !s.Is(faultfs.Write, root.Records) {
				return do()
			}
			if !judged {
				judged = true
				var err error
				if moved, err = rowsInPlace(base, right); err != nil {
					return err
				}
			}
			return writeAround(base, s, moved)
		}
	}
}

// rowsInPlace returns the plan rows whose destination looks right.
func rowsInPlace(base vfs.FS, right func([]byte, format.PlanRow) bool) ([]format.PlanRow, error) {
	plan, err := readPlan(base)
	if err != nil {
		return nil, err
	}
	arena, err := readFile(base, at(root.Records))
	if err != nil {
		return nil, err
	}
	var rows []format.PlanRow
	for _, r := range plan {
		if r.EndNew() <= uint64(len(arena)) && right(arena[r.OffsetNew:r.EndNew()], r) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// writeAround does a write of records but for the destinations of some rows.
func writeAround(base vfs.FS, s Step, rows []format.PlanRow) error {
	f, err := base.OpenFile(at(root.Records), vfs.ReadWrite)
	if err != nil {
		return err
	}
	done, end := s.Off, s.Off+int64(len(s.Data))
	write := func(to int64) {
		if to > done && err == nil {
			_, err = f.WriteAt(s.Data[done-s.Off:to-s.Off], done)
		}
	}
	for _, r := range rows {
		if int64(r.EndNew()) <= done || int64(r.OffsetNew) >= end {
			continue
		}
		write(int64(r.OffsetNew))
		done = min(int64(r.EndNew()), end)
	}
	write(end)
	return errors.Join(err, f.Close())
}

func rewriteJournal(base vfs.FS) error {
	if !present(base, root.Journal) {
		return nil
	}
	journal, err := readFile(base, at(root.Journal))
	if err == nil {
		err = durablyRemove(base, root.Journal)
	}
	if err != nil {
		return err
	}
	return vfs.Replace(base, Dir, root.Journal, func(w io.Writer) error {
		_, err := w.Write(journal)
		return err
	})
}

// shown is a file that shows other bytes than it has.
type shown struct {
	vfs.File
	bytes []byte
}

func (f *shown) Stat() (vfs.Info, error) {
	info, err := f.File.Stat()
	info.Size = int64(len(f.bytes))
	return info, err
}

func (f *shown) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, f.bytes[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// viewJournal shows a journal as change makes it.
func viewJournal(base vfs.FS, name string, f vfs.File, change func(journal []byte, plan []format.PlanRow) ([]byte, error)) (vfs.File, error) {
	if name != root.Journal {
		return f, nil
	}
	journal, err := readFile(base, at(name))
	if err != nil {
		return nil, err
	}
	plan, err := readPlan(base)
	if err != nil {
		return nil, err
	}
	b, err := change(journal, plan)
	return &shown{f, b}, err
}

func firstJournaledRow(base vfs.FS, name string, f vfs.File) (vfs.File, error) {
	return viewJournal(base, name, f, func(journal []byte, plan []format.PlanRow) ([]byte, error) {
		if _, ends := journalEnds(journal, plan); len(ends) > 0 {
			journal = journal[:min(ends[0], int64(len(journal)))]
		}
		return journal, nil
	})
}

// withoutJournal hides every journal.
func withoutJournal(_ vfs.FS, name string, f vfs.File) (vfs.File, error) {
	if name != root.Journal {
		return f, nil
	}
	return nil, errors.Join(&fs.PathError{Op: "open", Path: at(name), Err: fs.ErrNotExist}, f.Close())
}

// renumbered shows the rows of any journal as those from the cursor on.
func renumbered(base vfs.FS, name string, f vfs.File) (vfs.File, error) {
	return viewJournal(base, name, f, func(journal []byte, plan []format.PlanRow) ([]byte, error) {
		state, err := compact.ReadState(base, Dir)
		if err != nil || len(journal) < format.JournalHeaderLen {
			return journal, err
		}
		first, ends := journalEnds(journal, plan)
		cursor := state.Cursor
		for cursor < format.RowIndex(len(plan)) && !plan[cursor].Moves() {
			cursor++
		}
		if int(cursor) <= first {
			return journal, nil
		}
		out := format.JournalHeader{First: cursor}.AppendTo(nil)
		begin := int64(format.JournalHeaderLen)
		for i, end := range ends {
			out = format.JournalEntry{Index: cursor + format.RowIndex(i)}.AppendTo(out)
			out = append(out, journal[begin+format.JournalEntryLen:end]...)
			begin = end
		}
		return out, nil
	})
}

// takeUp renames temporaries of an earlier run into place.
func takeUp(base vfs.FS) error {
	var err error
	for _, name := range []string{root.State, root.Journal} {
		if present(base, name+vfs.TempSuffix) {
			err = errors.Join(err, base.Rename(at(name+vfs.TempSuffix), at(name)))
		}
	}
	return errors.Join(err, base.SyncDir(Dir))
}

// publicationBelieved leaves step D out on a log that looks published, and
// with it every directory sync before step F.
func publicationBelieved(base vfs.FS) Tamperer {
	published := present(base, root.State) && looksPublished(base)
	return func(s Step, do func() error) error {
		switch {
		case s.Op == faultfs.Remove && !isTemporary(s) && !inIndexes(s):
			published = false
		case published && s.Op == faultfs.SyncDir:
			return nil
		case published && s.Is(faultfs.Rename, root.RecordLog):
			return base.Remove(at(root.RecordLog + vfs.TempSuffix))
		}
		return do()
	}
}

func looksPublished(base vfs.FS) bool {
	plan, err := readPlan(base)
	if err != nil || len(plan) == 0 {
		return false
	}
	log, err := readFile(base, at(root.RecordLog))
	return err == nil && len(log) == rowlog.RowLen*len(plan) && bytes.HasSuffix(log, newPlace(plan[len(plan)-1]))
}

// newPlace is the range of a row in a published log.
func newPlace(r format.PlanRow) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, r.OffsetNew), r.Len)
}

func cursorTooFar(base vfs.FS) error {
	plan, err := readPlan(base)
	if err != nil {
		return err
	}
	state, err := compact.ReadState(base, Dir)
	if err != nil || state.Cursor >= format.RowIndex(len(plan)) {
		return err
	}
	state.Cursor++
	return vfs.Replace(base, Dir, root.State, func(w io.Writer) error {
		_, err := w.Write(state.AppendTo(nil))
		return err
	})
}
