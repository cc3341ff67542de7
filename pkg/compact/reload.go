package compact

import (
	"context"
	"slices"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// Reloader is a Profile whose rows are a database, with its posting lists: its step D is a phase of its own, with a state that says so.
type Reloader interface {
	Profile
	// Reload makes the rows those of the plan, in batches that are committed
	// one by one, and is done again after an interruption.
	Reload(ctx context.Context, plan Reload) (Reloaded, error)
	// ReloadNeed is how many bytes of free space a reload to that many rows
	// takes at most.
	ReloadNeed(rows uint64) (uint64, error)
}

// Reload is what a Reloader is to make.
type Reload struct {
	Rows uint64
	// Row returns the row of a zero-based index, at its new place.
	Row func(index uint64) (rowlog.Row, error)
	// Resumed says that the database may have rows of the plan already.
	Resumed bool
	// CarryDamaged lets records go on that cannot be read as records.
	CarryDamaged bool
	// Progress is told the rows that are reloaded.
	Progress func(rows uint64)
}

// Reloaded is what a reload came to.
type Reloaded struct {
	// Damaged are the indexes of rows that were carried.
	Damaged []uint64
	// Unshrunk says what does not shrink, and why.
	Unshrunk string
}

// reload is step D of a Reloader. The state is durable before the database is
// touched: from then on only the plan has the rows.
func (r *run) reload(ctx context.Context, p Reloader, rows *move.Plan, reloading, resumed bool) error {
	r.startPhase("reload")
	if !reloading {
		if err := r.mover.WriteState(format.State{Phase: format.Reload}); err != nil {
			return err
		}
	}
	total := uint64(rows.Rows())
	done, err := p.Reload(ctx, Reload{
		Rows: total,
		Row: func(index uint64) (rowlog.Row, error) {
			row, err := rows.Row(format.RowIndex(index))
			if err != nil {
				return rowlog.Row{}, r.ioError("read", root.Plan, err)
			}
			return rowlog.Row{Hash: row.Hash, Offset: row.OffsetNew, Len: row.Len}, nil
		},
		Resumed: resumed, CarryDamaged: r.opts.CarryDamaged,
		Progress: func(n uint64) { r.progress(n, total, "rows") },
	})
	r.reloaded = done
	r.report.Unshrunk = done.Unshrunk
	r.report.Written += total * rowlog.RowLen
	return err
}

// damaged merges the rows that a move and a reload carried.
func damaged(moved, reloaded []uint64) []uint64 {
	all := slices.Concat(moved, reloaded)
	slices.Sort(all)
	return slices.Compact(all)
}
