package verify

import (
	"cmp"
	"iter"
	"slices"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// spans cuts the rows into runs of at most spanBytes, or of one longer record.
// Rows are contiguous, so a span is one range of the arena.
func spans(table *rowlog.Table) iter.Seq[span] {
	return func(yield func(span) bool) {
		end := store.RecordID(table.Position())
		for id := store.RecordID(1); id <= end; {
			row := table.Row(id)
			s := span{first: id, last: id, offset: row.Offset, len: row.Len}
			for id++; id <= end; id++ {
				next := table.Row(id)
				if s.len+next.Len > spanBytes {
					break
				}
				s.last, s.len = id, s.len+next.Len
			}
			if !yield(s) {
				return
			}
		}
	}
}

func sortBad(bad []Bad) {
	slices.SortFunc(bad, func(a, b Bad) int { return cmp.Compare(a.ID, b.ID) })
}
