package compact

import (
	"fmt"
	"iter"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// oldRows goes through the rows of a root, and makes their hashes when they are
// asked for, where the rows can: most rows that do not stay are passed by their
// ranges alone.
type oldRows struct {
	rows rowlog.Rows
	// id is that of the row at hand.
	id   store.RecordID
	hash func(id store.RecordID) record.Hash
}

// row returns the row at hand, which has that range.
func (o *oldRows) row(at rowlog.Range) rowlog.Row {
	return rowlog.Row{Hash: o.hash(o.id), Offset: at.Offset, Len: at.Len}
}

// all yields the ranges of the rows, and an error in place of one too many or
// behind one too few: a kept set and a plan are about exactly as many.
func (o *oldRows) all() iter.Seq2[rowlog.Range, error] {
	return func(yield func(rowlog.Range, error) bool) {
		o.id = 0
		end, position := uint64(0), o.rows.Position()
		for at, err := range o.ranges() {
			if err == nil && store.Position(o.id) == position {
				err = o.miscount(fmt.Sprintf("more than %d rows", position))
			}
			o.id++
			if !yield(at, err) || err != nil {
				return
			}
			end = at.End()
		}
		if store.Position(o.id) != position || end != o.rows.End() {
			yield(rowlog.Range{}, o.miscount(fmt.Sprintf("%d rows that end at %d", o.id, end)))
		}
	}
}

// ranges yields the ranges of the rows, and sees to their hashes.
func (o *oldRows) ranges() iter.Seq2[rowlog.Range, error] {
	return func(yield func(rowlog.Range, error) bool) {
		if known, ok := o.rows.(rowlog.Ranged); ok {
			o.hash = known.Hash
			for at := range known.Ranges() {
				if !yield(at, nil) {
					return
				}
			}
			return
		}
		var last record.Hash
		o.hash = func(store.RecordID) record.Hash { return last }
		for row, err := range o.rows.All() {
			last = row.Hash
			if !yield(rowlog.Range{Offset: row.Offset, Len: row.Len}, err) {
				return
			}
		}
	}
}

func (o *oldRows) miscount(found string) error {
	return &store.Error{
		Kind: store.Integration, Doing: "read rows", Found: found,
		Want: fmt.Sprintf("%d rows that end at %d", o.rows.Position(), o.rows.End()),
	}
}
