package compact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// PlanSummary is what the rows of a believed plan come to.
type PlanSummary struct {
	NewEnd    uint64
	Moved     uint64
	Published bool // the record-log has the plan's rows already
	// Kept is the set that the plan was made from, found again among the rows
	// of the old log; nil once published, for then these rows are gone.
	Kept *kept.Set
}

// OpenPlan opens compaction-plan of a root with a state at that cursor and
// checks it against the record-log's rows. The caller closes the file.
func OpenPlan(fsys vfs.FS, dir string, table *rowlog.Table, cursor format.RowIndex) (vfs.File, *move.Plan, PlanSummary, error) {
	path := filepath.Join(dir, root.Plan)
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, PlanSummary{}, corruptFile(dir, root.Plan, "", "no plan beside a state", "the plan")
	}
	if err != nil {
		return nil, nil, PlanSummary{}, ioError(dir, "open", root.Plan, err)
	}
	rows, summary, err := checkPlan(f, dir, table, cursor)
	if err != nil {
		return nil, nil, PlanSummary{}, errors.Join(err, f.Close())
	}
	return f, rows, summary, nil
}

func checkPlan(f vfs.File, dir string, table *rowlog.Table, cursor format.RowIndex) (*move.Plan, PlanSummary, error) {
	header, err := readPlanHeader(f, dir)
	if err != nil {
		return nil, PlanSummary{}, err
	}
	if uint64(cursor) > header.Retained {
		return nil, PlanSummary{}, corruptFile(dir, root.State, "", fmt.Sprintf("cursor %d", cursor), fmt.Sprintf("at most the %d rows of the plan", header.Retained))
	}
	summary, err := checkRows(f, dir, header)
	if err != nil {
		return nil, PlanSummary{}, err
	}
	rows := move.NewPlan(f, header)
	if err := matchLog(rows, dir, table, cursor, &summary); err != nil {
		return nil, PlanSummary{}, err
	}
	return rows, summary, nil
}

func readPlanHeader(f vfs.File, dir string) (format.PlanHeader, error) {
	info, err := f.Stat()
	if err != nil {
		return format.PlanHeader{}, ioError(dir, "read", root.Plan, err)
	}
	buf := make([]byte, format.PlanHeaderLen)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return format.PlanHeader{}, ioError(dir, "read", root.Plan, err)
	}
	h, err := format.DecodePlanHeader(buf[:n])
	if err != nil {
		return h, corruptFile(dir, root.Plan, "header", err.Error(), "")
	}
	if info.Size != h.PlanLen() {
		return h, corruptFile(dir, root.Plan, "length", fmt.Sprintf("%d bytes", info.Size), fmt.Sprintf("%d for %d rows", h.PlanLen(), h.Retained))
	}
	return h, nil
}

// checkRows checks the rows by themselves, in one sequential pass.
func checkRows(f vfs.File, dir string, h format.PlanHeader) (PlanSummary, error) {
	var s PlanSummary
	check := format.NewChecker(h)
	buf := make([]byte, min(format.PlanRowLen<<12, h.PlanLen()-format.PlanHeaderLen))
	for at := int64(format.PlanHeaderLen); at < h.PlanLen(); {
		b := buf[:min(int64(len(buf)), h.PlanLen()-at)]
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return s, ioError(dir, "read", root.Plan, err)
		}
		for i := 0; i < len(b); i += format.PlanRowLen {
			row, err := format.DecodePlanRow(b[i : i+format.PlanRowLen])
			if err == nil {
				err = check.Row(row)
			}
			if err != nil {
				return s, corruptFile(dir, root.Plan, fmt.Sprintf("offset %d", at+int64(i)), err.Error(), "")
			}
			if row.Moves() {
				s.Moved += row.Len
			}
		}
		at += int64(len(b))
	}
	newEnd, err := check.End()
	if err != nil {
		return s, corruptFile(dir, root.Plan, "", err.Error(), "")
	}
	s.NewEnd = newEnd
	return s, nil
}

// matchLog checks the plan against the record-log: all its rows are among the
// boundary's rows of the old log, or the log was published already, which
// happens only once every row is at its new place.
func matchLog(rows *move.Plan, dir string, table *rowlog.Table, cursor format.RowIndex, s *PlanSummary) error {
	h := rows.Header()
	if table.Position() == h.Boundary && table.End() == h.OldEnd {
		return matchOldLog(rows, dir, table, s)
	}
	done, err := rows.EffectiveCursor(cursor)
	if err != nil {
		return ioError(dir, "read", root.Plan, err)
	}
	if done != rows.Rows() || uint64(table.Position()) != h.Retained || table.End() != s.NewEnd {
		return corruptFile(dir, root.RecordLog, "", fmt.Sprintf("%d rows ending at %d", table.Position(), table.End()),
			fmt.Sprintf("the %d rows ending at %d that the plan was made from", h.Boundary, h.OldEnd))
	}
	for i := range rows.Rows() {
		p, err := rows.Row(i)
		if err != nil {
			return ioError(dir, "read", root.Plan, err)
		}
		got := table.Row(rowlog.ID(uint64(i)))
		if got.Hash != p.Hash || got.Offset != p.OffsetNew || got.Len != p.Len {
			return corruptFile(dir, root.RecordLog, fmt.Sprintf("row %d", i), fmt.Sprintf("%s at %d+%d", got.Hash, got.Offset, got.Len),
				fmt.Sprintf("the plan's %s at %d+%d", p.Hash, p.OffsetNew, p.Len))
		}
	}
	s.Published = true
	return nil
}

func matchOldLog(rows *move.Plan, dir string, table *rowlog.Table, s *PlanSummary) error {
	s.Kept = kept.New(table.Position())
	id := uint64(0)
	matcher := format.NewMatcher(func() (format.OldRow, bool) {
		if id == uint64(table.Position()) {
			return format.OldRow{}, false
		}
		r := table.Row(rowlog.ID(id))
		id++
		return format.OldRow{Hash: r.Hash, Offset: r.Offset, Len: r.Len}, true
	})
	for i := range rows.Rows() {
		p, err := rows.Row(i)
		if err != nil {
			return ioError(dir, "read", root.Plan, err)
		}
		if err := matcher.Row(i, p); err != nil {
			return corruptFile(dir, root.Plan, fmt.Sprintf("row %d", i), err.Error(), "")
		}
		s.Kept.Add(rowlog.ID(id - 1))
	}
	return nil
}
