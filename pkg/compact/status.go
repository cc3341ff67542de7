package compact

import (
	"context"
	"errors"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Status is how far an interrupted compaction came.
type Status struct {
	State     format.State
	Header    format.PlanHeader
	Summary   PlanSummary
	BytesDone uint64 // of the rows that move
	Percent   float64
}

// ReadStatus reads the state of an interrupted compaction and believes the
// plan and the journal only after the checks of a resume. It writes nothing.
func ReadStatus(fsys vfs.FS, dir string, log rowlog.Rows) (Status, error) {
	state, err := readStateOf(fsys, dir, log)
	if err != nil {
		return Status{}, err
	}
	f, rows, summary, err := OpenPlan(fsys, dir, log, state.Cursor)
	if err != nil {
		return Status{State: state}, err
	}
	s := Status{State: state, Header: rows.Header(), Summary: summary, BytesDone: summary.Moved, Percent: 100}
	if state.Phase == format.Move && state.Cursor < rows.Rows() {
		var first format.RowIndex
		if first, err = rows.EffectiveCursor(0); err == nil {
			err = s.measure(rows, first)
		}
	}
	if err == nil && state.Phase == format.Move {
		err = move.New(move.Config{FS: fsys, Dir: dir, Plan: rows}).CheckJournal(state.Cursor)
	}
	return s, errors.Join(err, f.Close())
}

// measure counts the bytes at their new place, from the first row that moves.
func (s *Status) measure(rows *move.Plan, first format.RowIndex) error {
	if first == rows.Rows() {
		return nil
	}
	from, err := rows.Row(first)
	if err != nil {
		return err
	}
	at, err := rows.Row(max(first, s.State.Cursor))
	if err != nil {
		return err
	}
	s.BytesDone = at.OffsetNew - from.OffsetNew
	if s.Summary.Moved > 0 {
		s.Percent = 100 * float64(s.BytesDone) / float64(s.Summary.Moved)
	}
	return nil
}

// Prove hashes every plan row of an interrupted compaction where a resume
// would look for it. It writes nothing.
func Prove(ctx context.Context, fsys vfs.FS, dir string, arena vfs.File, log rowlog.Rows, progress func(done, total uint64)) (move.Proof, error) {
	state, err := readStateOf(fsys, dir, log)
	if err != nil {
		return move.Proof{}, err
	}
	f, rows, _, err := OpenPlan(fsys, dir, log, state.Cursor)
	if err != nil {
		return move.Proof{}, err
	}
	m := move.New(move.Config{FS: fsys, Dir: dir, Arena: arena, Plan: rows, Progress: progress})
	cursor := state.Cursor
	if state.Phase == format.Reload {
		cursor = rows.Rows() // every row is at its new place
	}
	proof, err := m.Prove(ctx, cursor)
	return proof, errors.Join(err, f.Close())
}
