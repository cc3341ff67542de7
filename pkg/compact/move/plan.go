package move

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// pageRows is how many plan rows are read at a time.
const pageRows = 1 << 12

// Plan reads the rows of a plan file that was checked, a page at a time. Reads
// near each other are cheap. It is not safe for concurrent use.
type Plan struct {
	file   vfs.File
	header format.PlanHeader
	buf    []byte
	page   []byte
	first  format.RowIndex // index of the first row in page
}

// NewPlan returns a Plan over an open plan file with that header.
func NewPlan(f vfs.File, h format.PlanHeader) *Plan { return &Plan{file: f, header: h} }

// Header returns the plan's header.
func (p *Plan) Header() format.PlanHeader { return p.header }

// Rows returns the number of rows.
func (p *Plan) Rows() format.RowIndex { return format.RowIndex(p.header.Retained) }

// Row returns row i, which must be below Rows.
func (p *Plan) Row(i format.RowIndex) (format.PlanRow, error) {
	if i >= p.Rows() {
		panic(fmt.Sprintf("move: plan row %d of %d", i, p.Rows()))
	}
	if i < p.first || i-p.first >= format.RowIndex(len(p.page)/format.PlanRowLen) {
		if err := p.load(i); err != nil {
			return format.PlanRow{}, err
		}
	}
	r, err := format.DecodeCheckedPlanRow(p.page[(i-p.first)*format.PlanRowLen:])
	if err != nil {
		return r, fmt.Errorf("plan row %d: %w", i, err)
	}
	return r, nil
}

func (p *Plan) load(i format.RowIndex) error {
	if p.buf == nil {
		p.buf = make([]byte, min(pageRows, p.header.Retained)*format.PlanRowLen)
	}
	first := i / pageRows * pageRows
	n := min(uint64(len(p.buf)), uint64(p.Rows()-first)*format.PlanRowLen)
	if _, err := p.file.ReadAt(p.buf[:n], format.PlanHeaderLen+int64(first)*format.PlanRowLen); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read plan rows from %d: %w", first, err)
	}
	p.page, p.first = p.buf[:n], first
	return nil
}

// EffectiveCursor returns the row that batches start from when the state's
// cursor is c: the larger of c and the first row whose offset changes. From
// there on every row changes, for the shift never shrinks.
func (p *Plan) EffectiveCursor(c format.RowIndex) (format.RowIndex, error) {
	// Rows do not move while their offsets agree, so the first that moves can
	// be found by bisection.
	lo, hi := c, p.Rows()
	for lo < hi {
		mid := lo + (hi-lo)/2
		r, err := p.Row(mid)
		if err != nil {
			return 0, err
		}
		if r.Moves() {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo, nil
}

// batch is the run [first, end) of plan rows. The rows [first, overlapEnd) lie
// in its destination, which ends at destEnd.
type batch struct {
	first, overlapEnd, end format.RowIndex
	bytes                  uint64
	destEnd                uint64
}

// cut returns the batch that starts at row c, of total length at most J. Once
// the gap between old and new place is worth a batch of its own, the batch is
// no longer than the gap, so that it overlaps nothing and needs no journal. A
// batch before that ends where the gap has become worth it: every further row
// would be journaled for nothing.
func (p *Plan) cut(c format.RowIndex, worthGap uint64) (batch, error) {
	first, err := p.Row(c)
	if err != nil {
		return batch{}, err
	}
	limit := p.header.Journal
	free := gapServes(first, worthGap)
	if free {
		limit = min(limit, first.OffsetOld-first.OffsetNew)
	}
	b := batch{first: c, end: c}
	for b.end < p.Rows() {
		r, err := p.Row(b.end)
		if err != nil {
			return batch{}, err
		}
		if r.Len > limit-b.bytes || !free && gapServes(r, worthGap) {
			break
		}
		b.bytes += r.Len
		b.end++
	}
	b.destEnd = first.OffsetNew + b.bytes
	if b.end == c {
		return batch{}, fmt.Errorf("plan row %d of %d bytes is longer than a batch of %d", c, first.Len, limit)
	}
	for b.overlapEnd = c; b.overlapEnd < b.end; b.overlapEnd++ {
		r, err := p.Row(b.overlapEnd)
		if err != nil {
			return batch{}, err
		}
		if r.OffsetOld >= b.destEnd {
			break
		}
	}
	return b, nil
}

// gapServes reports whether a batch that begins with r needs no journal when
// it is as long as the gap, and is worth its syncs.
func gapServes(r format.PlanRow, worthGap uint64) bool {
	gap := r.OffsetOld - r.OffsetNew
	return gap >= worthGap && gap >= r.Len
}
