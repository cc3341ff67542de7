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

	log [32]byte // the digest of the old log, beside Kept
}

// OpenPlan opens compaction-plan of a root with a state at that cursor and
// checks it against the record-log's rows, unless they are nil, because they are
// being reloaded. The caller closes the file.
func OpenPlan(fsys vfs.FS, dir string, log rowlog.Rows, cursor format.RowIndex) (vfs.File, *move.Plan, PlanSummary, error) {
	path := filepath.Join(dir, root.Plan)
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, PlanSummary{}, corruptFile(dir, root.Plan, "", "no plan beside a state", "the plan")
	}
	if err != nil {
		return nil, nil, PlanSummary{}, ioError(dir, "open", root.Plan, err)
	}
	rows, summary, err := checkPlan(f, dir, log, cursor)
	if err != nil {
		return nil, nil, PlanSummary{}, errors.Join(err, f.Close())
	}
	return f, rows, summary, nil
}

func checkPlan(f vfs.File, dir string, log rowlog.Rows, cursor format.RowIndex) (*move.Plan, PlanSummary, error) {
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
	if log == nil {
		return rows, summary, nil
	}
	if err := matchLog(rows, dir, log, cursor, &summary); err != nil {
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
func matchLog(rows *move.Plan, dir string, log rowlog.Rows, cursor format.RowIndex, s *PlanSummary) error {
	h := rows.Header()
	if log.Position() == h.Boundary && log.End() == h.OldEnd {
		return matchOldLog(rows, dir, log, s)
	}
	done, err := rows.EffectiveCursor(cursor)
	if err != nil {
		return ioError(dir, "read", root.Plan, err)
	}
	if done != rows.Rows() || uint64(log.Position()) != h.Retained || log.End() != s.NewEnd {
		return corruptFile(dir, root.RecordLog, "", fmt.Sprintf("%d rows ending at %d", log.Position(), log.End()),
			fmt.Sprintf("the %d rows ending at %d that the plan was made from", h.Boundary, h.OldEnd))
	}
	s.Published = true
	return matchNewLog(rows, dir, log)
}

// matchNewLog checks that the rows of the log are those of the plan at their
// new places; there are as many.
func matchNewLog(rows *move.Plan, dir string, log rowlog.Rows) error {
	i, old := format.RowIndex(0), oldRows{rows: log}
	for at, err := range old.all() {
		if err != nil {
			return err
		}
		p, err := rows.Row(i)
		if err != nil {
			return ioError(dir, "read", root.Plan, err)
		}
		got := old.row(at)
		if got.Hash != p.Hash || got.Offset != p.OffsetNew || got.Len != p.Len {
			return corruptFile(dir, root.RecordLog, fmt.Sprintf("row %d", i), fmt.Sprintf("%s at %d+%d", got.Hash, got.Offset, got.Len),
				fmt.Sprintf("the plan's %s at %d+%d", p.Hash, p.OffsetNew, p.Len))
		}
		i++
	}
	return nil
}

// matchOldLog finds the rows of the plan among those of the old log, which it
// reads once.
func matchOldLog(rows *move.Plan, dir string, log rowlog.Rows, s *PlanSummary) error {
	s.Kept = kept.New(log.Position())
	see, sum := digestOf(log)
	match := format.NewMatcher(rows.Rows(), rows.Row)
	old := oldRows{rows: log}
	for at, err := range old.all() {
		if err != nil {
			return err
		}
		if see != nil {
			see(old.row(at))
		}
		before, err := match.Before(at.Offset)
		if err != nil {
			return mismatch(dir, match.Next(), err)
		}
		if before {
			continue
		}
		found, err := match.Old(format.OldRow(old.row(at)))
		if err != nil {
			return mismatch(dir, match.Next(), err)
		}
		if found {
			s.Kept.Add(old.id)
		}
	}
	if err := match.End(); err != nil {
		return mismatch(dir, match.Next(), err)
	}
	s.log = sum()
	return nil
}

// mismatch tells a plan that does not fit the log from one that cannot be read.
func mismatch(dir string, i format.RowIndex, err error) error {
	var unlike *format.MatchError
	if !errors.As(err, &unlike) {
		return ioError(dir, "read", root.Plan, err)
	}
	return corruptFile(dir, root.Plan, fmt.Sprintf("row %d", i), err.Error(), "")
}
