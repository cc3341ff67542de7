package compact

import (
	"fmt"
	"io"
	"iter"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// The longest batch, in bytes: J of seed 000.
const (
	// MinJournalSize is one maximum record.
	MinJournalSize = record.MaxRecordLen
	// DefaultJournalSize is the seed's default.
	DefaultJournalSize = 64 << 20
)

// Count is a number of records and the bytes of these records.
type Count struct {
	Records uint64
	Bytes   uint64
}

// Plan is what a compaction is going to do. It has its figures before anything
// is changed, and is executed at most once.
type Plan struct {
	Header   format.PlanHeader
	Retained Count
	Removed  Count
	// NewEnd is the committed end afterwards, in bytes.
	NewEnd uint64
	// Moved is the bytes of the rows whose offset changes.
	Moved uint64
	// Digest identifies the kept set and the root (kept_digest).
	Digest [32]byte

	rows rowlog.Rows
	set  *kept.Set
}

// NewPlan plans to retain the set of the rows, with batches of at most journal
// bytes. The set must decide about exactly these rows. The rows are read once
// here and once for each writing of the plan, in order; an error of theirs is
// returned as it is.
func NewPlan(rows rowlog.Rows, set *kept.Set, journal uint64) (*Plan, error) {
	if set.Boundary() != rows.Position() {
		return nil, &store.Error{
			Kind: store.Integration, Doing: "plan",
			Found: fmt.Sprintf("a kept set over %d records", set.Boundary()), Want: fmt.Sprintf("%d, all of the root", rows.Position()),
		}
	}
	p := &Plan{
		Header: format.PlanHeader{Boundary: rows.Position(), Retained: set.Count(), Journal: journal, OldEnd: rows.End()},
		rows:   rows, set: set,
	}
	see, sum := digestOf(rows)
	if err := p.measure(see); err != nil {
		return nil, err
	}
	p.Retained = Count{set.Count(), p.NewEnd}
	p.Removed = Count{uint64(rows.Position()) - set.Count(), rows.End() - p.NewEnd}
	p.Digest = set.Digest(sum())
	return p, nil
}

// digestOf returns what is to see every row of the root, nil for nothing, and
// what says their digest afterwards. Rows that know it are not hashed again.
func digestOf(rows rowlog.Rows) (see func(rowlog.Row), sum func() [32]byte) {
	if known, ok := rows.(rowlog.Digested); ok {
		return nil, func() [32]byte { return known.Digest(rows.Position()) }
	}
	var d rowlog.Digester
	return d.Add, d.Sum
}

// measure checks the rows of the plan, adds up where they end and what moves,
// and has every row of the root seen.
func (p *Plan) measure(see func(rowlog.Row)) error {
	check := format.NewChecker(p.Header)
	for row, err := range p.planned(see) {
		if err != nil {
			return err
		}
		if err := check.Row(row); err != nil {
			return &store.Error{Kind: store.Integration, Doing: "plan", Err: err}
		}
		if row.Moves() {
			p.Moved += row.Len
		}
	}
	newEnd, err := check.End()
	if err != nil {
		return &store.Error{Kind: store.Integration, Doing: "plan", Err: err}
	}
	p.NewEnd = newEnd
	return nil
}

// Rows yields the plan rows in order. An error is that of the rows the plan
// was made from, and the last thing yielded.
func (p *Plan) Rows() iter.Seq2[format.PlanRow, error] { return p.planned(nil) }

// planned yields the plan rows, and shows see, unless it is nil, every row of
// the root on the way.
func (p *Plan) planned(see func(rowlog.Row)) iter.Seq2[format.PlanRow, error] {
	return func(yield func(format.PlanRow, error) bool) {
		end, old := uint64(0), oldRows{rows: p.rows}
		for at, err := range old.all() {
			if err != nil {
				yield(format.PlanRow{}, err)
				return
			}
			if see != nil {
				see(old.row(at))
			}
			if !p.set.Has(old.id) {
				continue
			}
			if !yield(format.PlanRow{Hash: old.row(at).Hash, OffsetOld: at.Offset, OffsetNew: end, Len: at.Len}, nil) {
				return
			}
			end += at.Len
		}
	}
}

// KeepsAll reports whether there is nothing to remove.
func (p *Plan) KeepsAll() bool { return p.Removed.Records == 0 }

// planWrite is how much of a plan is written at a time, in bytes.
const planWrite = 1 << 20

// writeTo writes the bytes of the plan file, in large writes.
func (p *Plan) writeTo(w io.Writer) error {
	buf := make([]byte, 0, min(planWrite, p.Header.PlanLen()))
	buf = p.Header.AppendTo(buf)
	for row, err := range p.Rows() {
		if err != nil {
			return err
		}
		if len(buf)+format.PlanRowLen > cap(buf) {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		buf = row.AppendTo(buf)
	}
	_, err := w.Write(buf)
	return err
}
