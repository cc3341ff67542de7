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

	table *rowlog.Table
	set   *kept.Set
}

// NewPlan plans to retain the set of the rows in table, with batches of at
// most journal bytes. The set must decide about exactly these rows.
func NewPlan(table *rowlog.Table, set *kept.Set, journal uint64) (*Plan, error) {
	if set.Boundary() != table.Position() {
		return nil, &store.Error{
			Kind: store.Integration, Doing: "plan",
			Found: fmt.Sprintf("a kept set over %d records", set.Boundary()), Want: fmt.Sprintf("%d, all of the root", table.Position()),
		}
	}
	p := &Plan{
		Header: format.PlanHeader{Boundary: table.Position(), Retained: set.Count(), Journal: journal, OldEnd: table.End()},
		table:  table, set: set,
	}
	check := format.NewChecker(p.Header)
	for row := range p.Rows() {
		if err := check.Row(row); err != nil {
			return nil, &store.Error{Kind: store.Integration, Doing: "plan", Err: err}
		}
		if row.Moves() {
			p.Moved += row.Len
		}
	}
	newEnd, err := check.End()
	if err != nil {
		return nil, &store.Error{Kind: store.Integration, Doing: "plan", Err: err}
	}
	p.NewEnd = newEnd
	p.Retained = Count{set.Count(), newEnd}
	p.Removed = Count{uint64(table.Position()) - set.Count(), table.End() - newEnd}
	p.Digest = set.Digest(table.Digest(table.Position()))
	return p, nil
}

// Rows yields the plan rows in order.
func (p *Plan) Rows() iter.Seq[format.PlanRow] {
	return func(yield func(format.PlanRow) bool) {
		end := uint64(0)
		for id := range p.set.IDs() {
			old := p.table.Row(id)
			row := format.PlanRow{Hash: old.Hash, OffsetOld: old.Offset, OffsetNew: end, Len: old.Len}
			if !yield(row) {
				return
			}
			end += old.Len
		}
	}
}

// KeepsAll reports whether there is nothing to remove.
func (p *Plan) KeepsAll() bool { return p.Removed.Records == 0 }

// writeTo writes the bytes of the plan file.
func (p *Plan) writeTo(w io.Writer) error {
	buf := p.Header.AppendTo(nil)
	if _, err := w.Write(buf); err != nil {
		return err
	}
	for row := range p.Rows() {
		buf = row.AppendTo(buf[:0])
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
