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
// the old record-log. The old rows come to it one by one; it reads the plan.
type Matcher struct {
	next  RowIndex // the plan row that is looked for
	rows  RowIndex
	row   func(RowIndex) (PlanRow, error)
	want  PlanRow
	ready bool // want is row next
}

// NewMatcher returns a Matcher for a plan of so many rows, which it reads in
// order, each once.
func NewMatcher(rows RowIndex, row func(RowIndex) (PlanRow, error)) *Matcher {
	return &Matcher{rows: rows, row: row}
}

// MatchError says that a plan row is not in the record-log as it is in the plan.
type MatchError struct{ why string }

// Error names the row, and what the record-log has in its place.
func (e *MatchError) Error() string { return e.why }

// Next returns the plan row that was not found yet.
func (m *Matcher) Next() RowIndex { return m.next }

// Before reports whether an old row at that offset lies before the plan row that
// is looked for, so that Old would not find it. Whoever asks first makes the
// hashes of the other old rows alone. The error is that of reading the plan.
func (m *Matcher) Before(offset uint64) (bool, error) {
	if m.next == m.rows {
		return true, nil
	}
	if !m.ready {
		want, err := m.row(m.next)
		if err != nil {
			return false, err
		}
		m.want, m.ready = want, true
	}
	return offset < m.want.OffsetOld, nil
}

// Old takes the next old row and reports whether it is a row of the plan. The
// error is a *MatchError, or that of reading the plan.
func (m *Matcher) Old(old OldRow) (found bool, err error) {
	if before, err := m.Before(old.Offset); before || err != nil {
		return false, err
	}
	r := m.want
	switch {
	case old.Offset > r.OffsetOld:
		return false, m.absent()
	case old != (OldRow{Hash: r.Hash, Offset: r.OffsetOld, Len: r.Len}):
		return false, &MatchError{fmt.Sprintf("plan row %d is %s at %d+%d, but the record-log has %s at %d+%d",
			m.next, r.Hash, r.OffsetOld, r.Len, old.Hash, old.Offset, old.Len)}
	}
	m.next++
	m.ready = false
	return true, nil
}

// End checks that all rows of the plan were found. Its errors are those of Old.
func (m *Matcher) End() (err error) {
	if m.next == m.rows {
		return nil
	}
	if m.want, err = m.row(m.next); err != nil {
		return err
	}
	return m.absent()
}

func (m *Matcher) absent() error {
	r := m.want
	return &MatchError{fmt.Sprintf("plan row %d of %s at old range %d+%d is not in the record-log", m.next, r.Hash, r.OffsetOld, r.Len)}
}
