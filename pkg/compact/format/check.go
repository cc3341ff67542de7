package format

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store/record"
)

// OldRow is a row of the record-log that a plan was made from.
type OldRow struct {
	Hash   record.Hash
	Offset uint64
	Len    uint64
}

// Checker checks the rows of a plan one after the other, before a byte is
// moved on their word (design page compaction.md): new offsets are the running
// sum of the lengths, old ranges ascend without overlap, none is longer than a
// batch, and the last ends at or before the old end.
type Checker struct {
	header PlanHeader
	count  uint64
	newEnd uint64
	oldEnd uint64
}

// NewChecker returns a Checker for a plan with that (valid) header.
func NewChecker(h PlanHeader) *Checker { return &Checker{header: h} }

// Row checks the next row.
func (c *Checker) Row(r PlanRow) error {
	switch {
	case c.count == c.header.Retained:
		return fmt.Errorf("plan has more than %d rows", c.header.Retained)
	case r.Validate() != nil:
		return fmt.Errorf("plan row %d: %w", c.count, r.Validate())
	case r.OffsetNew != c.newEnd:
		return fmt.Errorf("plan row %d of %s goes to offset %d, want %d, the end of the row before it", c.count, r.Hash, r.OffsetNew, c.newEnd)
	case r.OffsetOld < c.oldEnd:
		return fmt.Errorf("plan row %d of %s comes from offset %d, inside the row before it, which ends at %d", c.count, r.Hash, r.OffsetOld, c.oldEnd)
	case r.EndOld() > c.header.OldEnd:
		return fmt.Errorf("plan row %d of %s comes from up to %d, behind the old end %d", c.count, r.Hash, r.EndOld(), c.header.OldEnd)
	case r.Len > c.header.Journal:
		return fmt.Errorf("plan row %d of %s has %d bytes, more than a batch of %d", c.count, r.Hash, r.Len, c.header.Journal)
	}
	c.count++
	c.newEnd, c.oldEnd = r.EndNew(), r.EndOld()
	return nil
}

// End checks that all rows came, and returns the new end.
func (c *Checker) End() (newEnd uint64, err error) {
	if c.count != c.header.Retained {
		return 0, fmt.Errorf("plan has %d rows, want %d", c.count, c.header.Retained)
	}
	return c.newEnd, nil
}

// Matcher checks that plan rows occur, in order and exactly, among the rows of
// the old record-log, which it reads through next: false at the end.
type Matcher struct{ next func() (OldRow, bool) }

// NewMatcher returns a Matcher over the old rows.
func NewMatcher(next func() (OldRow, bool)) *Matcher { return &Matcher{next: next} }

// Row finds the next plan row among the old rows that are left.
func (m *Matcher) Row(i RowIndex, r PlanRow) error {
	want := OldRow{Hash: r.Hash, Offset: r.OffsetOld, Len: r.Len}
	for {
		old, ok := m.next()
		if !ok || old.Offset > r.OffsetOld {
			return fmt.Errorf("plan row %d of %s at old range %d+%d is not in the record-log", i, r.Hash, r.OffsetOld, r.Len)
		}
		if old.Offset == r.OffsetOld {
			if old != want {
				return fmt.Errorf("plan row %d is %s at %d+%d, but the record-log has %s at %d+%d", i, r.Hash, r.OffsetOld, r.Len, old.Hash, old.Offset, old.Len)
			}
			return nil
		}
	}
}
