package compacttest

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Careless is Plain with a resume that leaves checks out: a double of the step,
// which tests of damaged roots must catch.
type Careless struct {
	Plain
	// BelievePlan takes the plan as it is.
	BelievePlan bool
	// ClearUnchecked removes files without a state before the root is proven.
	ClearUnchecked bool
	// MoveUnproven moves rows that no source proves, unasked.
	MoveUnproven bool
}

var _ Subject = Careless{}

// Resume implements Subject.
func (c Careless) Resume(ctx context.Context, fsys vfs.FS, dir string, s Settings) (compact.Report, error) {
	s.Run.CarryDamaged = s.Run.CarryDamaged || c.MoveUnproven
	found, err := compact.Settle(fsys, dir)
	switch {
	case err != nil:
		return compact.Report{}, err
	case !found.State && c.ClearUnchecked:
		return compact.Report{Outcome: compact.NothingToDo}, compact.ClearLeftovers(fsys, dir, found)
	case found.State && c.BelievePlan:
		return c.believe(ctx, fsys, dir, s)
	}
	return c.Plain.Resume(ctx, fsys, dir, s)
}

// believe is compact.Resume without compact.OpenPlan.
func (c Careless) believe(ctx context.Context, fsys vfs.FS, dir string, s Settings) (report compact.Report, err error) {
	state, err := compact.ReadState(fsys, dir)
	if err != nil {
		return report, err
	}
	f, err := fsys.OpenFile(filepath.Join(dir, root.Plan), vfs.ReadOnly)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := make([]byte, format.PlanHeaderLen)
	if _, err := f.ReadAt(b, 0); err != nil {
		return report, err
	}
	header, err := format.DecodePlanHeader(b)
	if err != nil {
		return report, err
	}
	return c.withArena(fsys, dir, func(r *plainRoot) (compact.Report, error) {
		return compact.Report{Outcome: compact.Resumed}, r.moveAll(ctx, move.NewPlan(f, header), state.Cursor, s)
	})
}

func (r *plainRoot) moveAll(ctx context.Context, plan *move.Plan, cursor format.RowIndex, s Settings) error {
	m := move.New(move.Config{FS: r.fsys, Dir: r.dir, Arena: r.arena, Plan: plan, Buffer: s.Run.Buffer, WorthGap: s.Run.WorthGap})
	next, err := m.Recover(cursor)
	if err == nil {
		err = m.Run(ctx, next)
	}
	if err != nil {
		return err
	}
	return r.Publish(func(yield func(rowlog.Row, error) bool) {
		for i := range plan.Rows() {
			p, err := plan.Row(i)
			if !yield(rowlog.Row{Hash: p.Hash, Offset: p.OffsetNew, Len: p.Len}, err) || err != nil {
				return
			}
		}
	})
}
