package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// errStopped ends a scan when the context has ended.
var errStopped = errors.New("stopped")

// run is one verification. Its rows come in id order from one goroutine.
type run struct {
	ctx      context.Context
	arena    io.ReaderAt
	capacity uint64
	total    uint64
	opts     Options

	glyphs rowlog.GlyphReader
	piece  *piece // being gathered
	group  errgroup.Group
	free   chan *piece
	// reading is held by the piece that is being read.
	reading sync.Mutex
	ahead   uint64 // the arena was asked for up to here

	mu     sync.Mutex // guards report.Bad, done and begun
	report Report
	done   uint64
	begun  bool // the progress was told of

	place   place
	prints  prints
	stopped error
	unasked uint64 // bytes of records since the context was asked
}

func newRun(ctx context.Context, arena io.ReaderAt, capacity, total uint64, opts Options) *run {
	r := &run{ctx: ctx, arena: arena, capacity: capacity, total: total, opts: opts}
	r.glyphs.Arena = arena
	r.group.SetLimit(opts.jobs())
	// One more than there are checkers, so that reading goes on meanwhile.
	r.free = make(chan *piece, opts.jobs()+1)
	for range cap(r.free) {
		r.free <- &piece{verifier: record.NewVerifier(record.Hash{})}
	}
	r.piece = <-r.free
	return r
}

// end waits for the checkers and completes the report.
func (r *run) end(cause error) (Report, error) {
	r.flush()
	if err := r.group.Wait(); err != nil {
		cause = errors.Join(cause, err)
	}
	r.report.Bad = merge(r.report.Bad)
	if cause == nil && r.stopped != nil {
		cause = &store.Error{
			Kind: store.Interrupted, Doing: "verify", Err: r.stopped,
			Found: fmt.Sprintf("stopped before record #%d", r.report.NextFrom),
		}
	}
	return r.report, cause
}

func (r *run) bad(b Bad) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.report.Bad) >= r.opts.maxBad() {
		r.report.Unlisted++
		return
	}
	r.report.Bad = append(r.report.Bad, b)
}

// stop reports whether the context has ended before that row.
func (r *run) stop(index uint64) bool {
	// Asking for every row would cost more than checking it, but 256 of the
	// longest records take many seconds.
	if r.stopped == nil && (index%256 == 0 || r.unasked >= spanBytes) {
		r.unasked = 0
		r.stopped = r.ctx.Err()
	}
	if r.stopped == nil {
		return false
	}
	r.report.NextFrom = max(rowlog.ID(index), r.opts.From)
	return true
}

// encodedRow checks a row of a log that nobody has checked.
func (r *run) encodedRow(index uint64, encoded []byte) error {
	if r.stop(index) {
		return errStopped
	}
	id := rowlog.ID(index)
	row, err := rowlog.Decode(encoded)
	if err != nil {
		r.report.Records++
		r.place.lose()
		r.bad(Bad{ID: id, Problem: "row: " + err.Error()})
		return nil
	}
	r.prints.add(row.Hash, index)
	if err := row.CheckInside(r.capacity); err != nil {
		r.report.Records++
		r.place.lose()
		r.bad(Bad{id, row.Hash, row.Offset, "row: " + err.Error()})
		return nil
	}
	if why := r.place.next(row); why != "" {
		r.bad(Bad{id, row.Hash, row.Offset, "row: " + why})
	}
	return r.row(index, row)
}

// place says where the next row must start. It finds its way again behind a
// bad row, so that one bad row is not reported as many.
type place struct {
	want uint64
	// Behind a misplaced row, its own end and the end it would have had in its
	// place are both right.
	other    uint64
	hasOther bool
	// Behind a row that tells no end, any later start is right.
	lost bool
}

func (p *place) lose() { p.lost, p.hasOther = true, false }

// next says what is wrong with the start of a row, or nothing.
func (p *place) next(row rowlog.Row) (why string) {
	switch {
	case row.Offset == p.want, p.hasOther && row.Offset == p.other, p.lost && row.Offset > p.want:
		*p = place{want: row.End()}
		return ""
	}
	why = fmt.Sprintf("starts at offset %d, want %d, the end of the row before it", row.Offset, p.want)
	*p = place{want: row.End(), other: p.want + row.Len, hasOther: true}
	return why
}

// row hands the record of a row to the checkers, as far as the level asks.
func (r *run) row(index uint64, row rowlog.Row) error {
	if r.stop(index) {
		return errStopped
	}
	r.unasked += min(row.Len, spanBytes)
	id := rowlog.ID(index)
	if id >= r.opts.From {
		r.begin()
	}
	if !r.opts.chooses(id) {
		r.checked(row.Len)
		return nil
	}
	r.report.Records++
	r.report.Bytes += row.Len
	switch {
	case r.opts.Level == Rows:
		r.checked(row.Len)
	case r.opts.Level == Glyphs:
		r.glyph(id, row)
		r.checked(row.Len)
	case row.Len > record.MaxRecordLen:
		r.bad(Bad{id, row.Hash, row.Offset, fmt.Sprintf("has %d bytes, no record has more than %d", row.Len, record.MaxRecordLen)})
		r.checked(row.Len)
	default:
		r.add(id, row)
	}
	return nil
}

func (r *run) glyph(id store.RecordID, row rowlog.Row) {
	b, err := r.glyphs.Glyph(row)
	if err != nil {
		err = fmt.Errorf("cannot be read: %w", err)
	} else {
		err = rowlog.JudgeGlyph(b, row.Hash)
	}
	if err != nil {
		r.bad(Bad{id, row.Hash, row.Offset, err.Error()})
	}
}

// begin tells where this run begins: the rows before it are none of its work.
func (r *run) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun = true
		r.tell()
	}
}

// checked counts bytes as done and tells the progress.
func (r *run) checked(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.done
	r.done += n
	// Small rows come by the million; they are told by the piece.
	if r.begun && (before/spanBytes != r.done/spanBytes || r.done == r.total) {
		r.tell()
	}
}

// tell is called with the lock held, which makes the calls come one by one.
func (r *run) tell() {
	if r.opts.Progress != nil {
		r.opts.Progress(min(r.done, r.total), r.total)
	}
}
