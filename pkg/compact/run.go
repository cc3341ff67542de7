package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// residueWorth is how much storage behind the end makes a compaction that
// removes nothing release it, in bytes.
const residueWorth = 1 << 20

// run is one execution of the steps.
type run struct {
	profile Profile
	opts    Options
	report  Report
	mover   *move.Mover
	phase   string
	began   time.Time

	reloaded Reloaded
}

func newRun(p Profile, opts Options) *run {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &run{profile: p, opts: opts}
}

// Run executes a plan on a root without compaction files. An error before the
// plan file is there means that nothing was changed; after it the root is
// resumable, and ordinary opening says so.
func Run(ctx context.Context, p Profile, plan *Plan, opts Options) (Report, error) {
	r := newRun(p, opts)
	err := r.fresh(ctx, plan)
	r.endPhase()
	return r.report, err
}

func (r *run) fresh(ctx context.Context, plan *Plan) error {
	if err := requireRows(r.profile); err != nil {
		return err
	}
	r.describe(plan)
	if err := r.measureBefore(); err != nil {
		return err
	}
	if plan.KeepsAll() {
		return r.releaseResidue(plan)
	}
	if err := r.preflight(plan); err != nil {
		return err
	}
	if err := r.stopped(ctx, "before anything was changed"); err != nil {
		return err
	}
	if err := r.writePlan(ctx, plan); err != nil { // A
		return err
	}
	file, rows, err := r.openPlan(plan.rows, 0)
	if err != nil {
		return err
	}
	err = r.forward(ctx, rows, format.State{Phase: format.Move}, false)
	if err = r.closePlan(file, err); err != nil {
		return err
	}
	r.report.Outcome = Done
	return r.finish() // F
}

// closePlan closes the plan file behind what came of it.
func (r *run) closePlan(file vfs.File, err error) error {
	if e := file.Close(); e != nil {
		return errors.Join(err, r.ioError("close", root.Plan, e))
	}
	return err
}

// forward is B to E: what a fresh and a resumed run have in common.
func (r *run) forward(ctx context.Context, rows *move.Plan, state format.State, resumed bool) error {
	r.mover = move.New(move.Config{
		FS: r.profile.FS(), Dir: r.profile.Dir(), Arena: r.profile.Arena(), Plan: rows,
		Buffer: r.opts.Buffer, WorthGap: r.opts.WorthGap, CarryDamaged: r.opts.CarryDamaged,
		Pace:     move.NewPace(ctx, r.opts.IOLimit, r.opts.Now, r.opts.Wait),
		Progress: func(done, total uint64) { r.progress(done, total, "bytes") },
	})
	defer r.takeStats()
	if state.Phase == format.Move {
		if err := r.move(ctx, state.Cursor, resumed); err != nil { // B and C
			return err
		}
	}
	if err := r.replaceRows(ctx, rows, state.Phase == format.Reload, resumed); err != nil { // D
		return err
	}
	return r.release(ctx) // E
}

// stopped is the error of a run that is asked to stop, as it was found to be
// at that point, or nil.
func (r *run) stopped(ctx context.Context, where string) error {
	if err := ctx.Err(); err != nil {
		return r.interrupted(where, err)
	}
	return nil
}

func (r *run) interrupted(where string, err error) error {
	return &store.Error{Kind: store.Interrupted, Doing: "compact", Root: r.profile.Dir(), Found: "stopped " + where, Err: err}
}

// replaceRows is step D.
func (r *run) replaceRows(ctx context.Context, rows *move.Plan, reloading, resumed bool) error {
	switch p := r.profile.(type) {
	case Reloader:
		return r.reload(ctx, p, rows, reloading, resumed)
	case Publisher:
		return r.publish(ctx, p, rows)
	}
	return requireRows(r.profile)
}

func (r *run) move(ctx context.Context, cursor format.RowIndex, resumed bool) error {
	r.startPhase("move")
	if resumed {
		// Redoing a batch takes as long as a batch.
		if err := r.stopped(ctx, fmt.Sprintf("before row %d was moved", cursor)); err != nil {
			return err
		}
		next, err := r.mover.Recover(cursor)
		if err != nil {
			return err
		}
		cursor = next
	} else if err := r.begin(); err != nil { // B
		return err
	}
	return r.mover.Run(ctx, cursor) // C
}

// writePlan is step A.
func (r *run) writePlan(ctx context.Context, plan *Plan) error {
	r.startPhase("plan")
	// The plan is complete and durable before the state that makes a resume
	// believe it.
	err := vfs.Replace(r.profile.FS(), r.profile.Dir(), root.Plan, func(w io.Writer) error { return plan.writeTo(stoppable{ctx, w}) })
	if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
		return r.interrupted("before anything was changed", err)
	}
	if err != nil {
		e := r.ioError("write", root.Plan, err)
		e.Hint = "nothing was changed but " + root.Plan + "; lace resume " + r.profile.Dir() + " clears it away"
		return e
	}
	r.report.Written += uint64(plan.Header.PlanLen())
	r.progress(plan.Retained.Records, plan.Retained.Records, "rows")
	return nil
}

// stoppable is a writer that a request to stop ends: a plan may be long.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s stoppable) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(b)
}

// begin is step B. The state comes first: without it, a crash after the
// removal of the indexes would still be a normal root, but a crash between a
// first move and the state would not be resumable.
func (r *run) begin() error {
	if err := r.mover.WriteState(format.State{Phase: format.Move}); err != nil {
		return err
	}
	if p, ok := r.profile.(Publisher); ok {
		return p.RemoveIndexes()
	}
	return nil // the lists are databases, which step D empties
}

// publish is step D of a Publisher. The indexes are removed again, because a crash between
// the state and their first removal could have left lists that name old ids. A
// stop leaves the old log, and the step is done again.
func (r *run) publish(ctx context.Context, p Publisher, rows *move.Plan) error {
	r.startPhase("publish")
	if err := p.RemoveIndexes(); err != nil {
		return err
	}
	total := uint64(rows.Rows())
	err := p.Publish(func(yield func(rowlog.Row, error) bool) {
		for i := range rows.Rows() {
			row, err := rows.Row(i)
			if err == nil && i%progressRows == 0 {
				r.progress(uint64(i), total, "rows")
				err = ctx.Err()
			}
			if !yield(rowlog.Row{Hash: row.Hash, Offset: row.OffsetNew, Len: row.Len}, err) || err != nil {
				return
			}
		}
	})
	if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
		return r.interrupted("before the new record-log was published", err)
	}
	if err != nil {
		return err
	}
	r.report.Written += total * rowlog.RowLen
	r.progress(total, total, "rows")
	return nil
}

// progressRows is how many rows pass between two progress events.
const progressRows = 1 << 14

// release is step E, the last that a stop can come before: behind it there are
// only files to remove.
func (r *run) release(ctx context.Context) error {
	r.startPhase("release")
	newEnd, tail := r.report.Retained.Bytes, r.report.Removed.Bytes
	r.progress(0, tail, "bytes")
	if err := r.stopped(ctx, "before the tail was released"); err != nil {
		return err
	}
	how, err := r.profile.Release(newEnd)
	if err != nil {
		return err
	}
	r.progress(tail, tail, "bytes")
	r.report.Release = how
	if how != Unsupported {
		r.report.Released = r.report.Removed.Bytes
	}
	return r.measureAfter()
}

// releaseResidue is all there is to do when nothing is removed: residue of
// failed writes behind the end is given back, without compaction files.
func (r *run) releaseResidue(plan *Plan) error {
	r.report.Outcome = NothingToDo
	worth, err := r.profile.ReleaseWorth(plan.NewEnd)
	if err != nil {
		return err
	}
	if worth < residueWorth {
		return r.measureAfter()
	}
	r.startPhase("release")
	how, err := r.profile.Release(plan.NewEnd)
	if err != nil {
		return err
	}
	r.report.Release = how
	return r.measureAfter()
}

func (r *run) describe(plan *Plan) {
	r.report.Boundary = plan.Header.Boundary
	r.report.Retained, r.report.Removed = plan.Retained, plan.Removed
	r.report.Moved, r.report.Digest = plan.Moved, plan.Digest
}

func (r *run) takeStats() {
	s := r.mover.Stats()
	r.report.Journaled, r.report.TrustedRows, r.report.DamagedRows = s.Journaled, s.Trusted, damaged(s.Damaged, r.reloaded.Damaged)
	r.report.Written += s.Written
}

func (r *run) measureBefore() error {
	info, err := r.profile.Arena().Stat()
	if err != nil {
		return r.ioError("measure", root.Records, err)
	}
	r.report.AllocatedBefore = uint64(max(info.Allocated, 0))
	return nil
}

// measureAfter compares what the file system gave back with what was released.
func (r *run) measureAfter() error {
	info, err := r.profile.Arena().Stat()
	if err != nil {
		return r.ioError("measure", root.Records, err)
	}
	r.report.AllocatedAfter = uint64(max(info.Allocated, 0))
	space, err := r.profile.FS().Space(r.profile.Dir())
	if err != nil {
		return r.ioError("measure the file system of", "", err)
	}
	freed := r.report.AllocatedBefore - min(r.report.AllocatedBefore, r.report.AllocatedAfter)
	block := uint64(max(space.BlockSize, 4096))
	switch {
	case r.report.Release == Unsupported:
		r.report.NotFreed = "this file system cannot free the inside of a file"
	case freed >= r.report.Released:
	case freed == 0 && r.report.Released < block:
		r.report.NotFreed = fmt.Sprintf("the released bytes are less than a block of %d", block)
	case freed+block >= r.report.Released: // the block at the edge is shared
	case space.CopyOnWrite:
		r.report.NotFreed = "copy-on-write or a snapshot may still hold the old bytes"
	default:
		r.report.NotFreed = fmt.Sprintf("the file system shows %d bytes freed; an interrupted run may have freed some before", freed)
	}
	return nil
}

func (r *run) startPhase(name string) {
	r.endPhase()
	r.phase, r.began = name, r.opts.Now()
	if r.opts.Phase != nil {
		r.opts.Phase(name)
	}
}

func (r *run) endPhase() {
	if r.phase != "" {
		r.report.Phases = append(r.report.Phases, PhaseTime{r.phase, r.opts.Now().Sub(r.began).Seconds()})
		r.phase = ""
	}
}

func (r *run) progress(done, total uint64, unit string) {
	if r.opts.Progress != nil {
		r.opts.Progress(Progress{Phase: r.phase, Done: done, Total: total, Unit: unit})
	}
}

// ioError wraps an error of the file system about an entry of the root.
func (r *run) ioError(doing, name string, err error) *store.Error {
	return ioError(r.profile.Dir(), doing, name, err)
}

func ioError(dir, doing, name string, err error) *store.Error {
	e := &store.Error{
		Kind: store.Store, Doing: doing, Root: dir, Path: filepath.Join(dir, name), Err: err,
		Hint: "nothing was lost; lace resume " + dir,
	}
	if vfs.NoSpace(err) {
		e.Reason = store.NoSpace
	}
	if errors.Is(err, vfs.ErrNotRegular) {
		e.Kind, e.Hint = store.CorruptStore, "nothing was changed; lace inspect "+dir
	}
	return e
}
