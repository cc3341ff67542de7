//go:build cgo

package lmdb

import (
	"context"
	"errors"
	"fmt"
	"iter"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// reloadBatch is how many rows a batch of a reload has (seed 000).
const reloadBatch = 1 << 14

// physical is what a compaction needs of an LMDB root.
type physical struct {
	c *compaction
	arena.Tail
}

var _ compact.Reloader = (*physical)(nil)

func (p *physical) FS() vfs.FS      { return p.c.fs }
func (p *physical) Dir() string     { return p.c.dir }
func (p *physical) Arena() vfs.File { return p.File }

// ReloadNeed implements compact.Reloader. The pages that the first batch
// empties can be used again from the second one on, so that data.mdb grows by
// what the first batch writes: its share of what the databases take now, and as
// much again for pages that are not full.
func (p *physical) ReloadNeed(rows uint64) (uint64, error) {
	info, err := bootstrap.StatIfPresent(p.c.fs, p.c.dir, root.LMDBData)
	if err != nil || info == nil {
		return 0, err
	}
	return 2*min(uint64(info.Size), min(rows, reloadBatch)*reloadRowBytes) + firstPages, nil
}

// Estimates of what LMDB writes, in bytes.
const (
	reloadRowBytes = 4 << 10 // for one record's row, hash and postings
	firstPages     = 1 << 16 // for the pages above them
)

// Reload implements compact.Reloader. The first transaction empties the
// databases; each further batch is one. What the last primary row says is how
// far an earlier run came.
//
// The plan and the arena have everything that the databases had, so that an
// environment which is missing is made. One that is damaged is for the operator
// to move away: nobody else may say that it is not needed any more.
func (p *physical) Reload(ctx context.Context, plan compact.Reload) (done compact.Reloaded, err error) {
	e, err := openEnv(p.c.fs, p.c.dir, envCreate, p.c.profile.hooks)
	if err != nil {
		return done, p.replaceable(err)
	}
	if err := e.checkPages(); err != nil {
		return done, p.replaceable(errors.Join(err, e.close()))
	}
	r := &reload{plan: plan, hooks: p.c.profile.hooks, insert: inserter{env: e, arena: p.File}}
	err = r.run(ctx, p)
	if err == nil {
		done.Damaged = r.damaged
		done.Unshrunk, err = unshrunk(e)
	}
	return done, root.Resumable(errors.Join(err, e.close()), p.c.dir)
}

// replaceable says in an error how to go on.
func (p *physical) replaceable(err error) error {
	var known *store.Error
	if errors.As(err, &known) && known.Kind == store.CorruptStore {
		known.Hint = "nothing was lost; move " + known.Path + " and " + root.LMDBLock + " away, then lace resume " + p.c.dir + " makes them anew"
	}
	return root.Resumable(err, p.c.dir)
}

// unshrunk says how large data.mdb stays.
func unshrunk(e *env) (string, error) {
	info, err := e.mdb.Info()
	if err != nil {
		return "", e.failed("measure", err)
	}
	stat, err := e.mdb.Stat()
	if err != nil {
		return "", e.failed("measure", err)
	}
	size := (uint64(info.LastPNO) + 1) * uint64(stat.PSize)
	return fmt.Sprintf("%s keeps its %d bytes: LMDB uses emptied pages again for later admissions", root.LMDBData, size), nil
}

// reload is one execution.
type reload struct {
	plan    compact.Reload
	hooks   hooks
	insert  inserter
	damaged []uint64
}

func (r *reload) run(ctx context.Context, p *physical) error {
	start, err := r.start()
	if err != nil {
		return err
	}
	empty := start == 0
	if empty && r.plan.Resumed {
		// Before the old rows go: every record that the plan names is there.
		if err := checkRecords(ctx, p.File, p.c.dir, r.rows()); err != nil {
			return err
		}
	}
	r.plan.Progress(start) // a resumed reload begins where it was
	for empty || start < r.plan.Rows {
		if err := ctx.Err(); err != nil {
			return &store.Error{
				Kind: store.Interrupted, Doing: "compact", Root: p.c.dir, Err: err,
				Found: fmt.Sprintf("stopped before row %d of %d was reloaded", start, r.plan.Rows),
			}
		}
		end := min(r.plan.Rows, start+r.batchRows())
		if err := r.batch(start, end, empty); err != nil {
			return err
		}
		r.plan.Progress(end)
		start, empty = end, false
	}
	return nil
}

func (r *reload) batchRows() uint64 {
	if r.hooks.batchRows > 0 {
		return r.hooks.batchRows
	}
	return reloadBatch
}

// start returns how many rows are reloaded: those through the last primary row,
// if it is the plan's by hash and range, and else none. The rows before a
// compaction are more than the plan's, unless it keeps all, and then they are
// the plan's.
func (r *reload) start() (rows uint64, err error) {
	err = r.insert.env.view(func(txn *mdb.Txn) error {
		now, err := r.insert.env.snapshot(txn)
		if err != nil || now.pos == 0 || uint64(now.pos) > r.plan.Rows {
			return err
		}
		last, _, err := now.row(store.RecordID(now.pos))
		if err != nil {
			return err
		}
		want, err := r.plan.Row(uint64(now.pos) - 1)
		if err == nil && last == want {
			rows = uint64(now.pos)
		}
		return err
	})
	return rows, err
}

func (r *reload) rows() iter.Seq2[rowlog.Row, error] {
	return func(yield func(rowlog.Row, error) bool) {
		for i := range r.plan.Rows {
			if row, err := r.plan.Row(i); !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// batch reloads the rows [start, end) in one transaction.
func (r *reload) batch(start, end uint64, empty bool) error {
	if err := r.tell(end, false); err != nil {
		return err
	}
	e := r.insert.env
	before := len(r.damaged)
	err := e.update(func(txn *mdb.Txn) error {
		r.damaged = r.damaged[:before] // a transaction may run again
		if empty {
			for _, dbi := range []mdb.DBI{e.rows, e.hashes, e.postings} {
				if err := txn.Drop(dbi, false); err != nil {
					return err
				}
			}
		}
		for i := start; i < end; i++ {
			if err := r.one(txn, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.tell(end, true)
}

// one reloads one row. A record that cannot be read as one has no postings; it
// goes on only when that was asked for.
func (r *reload) one(txn *mdb.Txn, index uint64) error {
	row, err := r.plan.Row(index)
	if err != nil {
		return err
	}
	id := rowlog.ID(index)
	err = r.insert.insert(txn, id, row)
	var form *record.FormatError
	if !errors.As(err, &form) {
		return err
	}
	if !r.plan.CarryDamaged {
		return &store.Error{
			Kind: store.CorruptStore, Doing: "reload", Root: r.insert.env.dir, ID: id, Hash: row.Hash, Err: form,
			Hint: "nothing was lost; lace resume --carry-damaged " + r.insert.env.dir + " goes on without postings of this record",
		}
	}
	r.damaged = append(r.damaged, index)
	return r.insert.insertBare(txn, id, row)
}

func (r *reload) tell(rows uint64, committed bool) error {
	if r.hooks.reloaded == nil {
		return nil
	}
	return r.hooks.reloaded(rows, committed)
}
