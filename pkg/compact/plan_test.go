package compact_test

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// cursor is rows that can only be read forward.
type cursor struct {
	rows     []rowlog.Row
	position store.Position
	end      uint64
	err      error // behind the rows
	passes   int
	given    int
}

func (c *cursor) Position() store.Position { return c.position }
func (c *cursor) End() uint64              { return c.end }

func (c *cursor) All() iter.Seq2[rowlog.Row, error] {
	c.passes++
	return func(yield func(rowlog.Row, error) bool) {
		for _, r := range c.rows {
			c.given++
			if !yield(r, nil) {
				return
			}
		}
		if c.err != nil {
			yield(rowlog.Row{}, c.err)
		}
	}
}

func threeRows() *cursor {
	c := &cursor{position: 3}
	for i := range byte(3) {
		r := rowlog.Row{Hash: record.MakeHash(record.Blob, record.Digest{i}), Offset: c.end, Len: 60 + uint64(i)}
		c.rows = append(c.rows, r)
		c.end = r.End()
	}
	return c
}

func lastTwo() *kept.Set {
	set := kept.New(3)
	set.Add(2)
	set.Add(3)
	return set
}

func TestAPlanReadsItsRowsOnce(t *testing.T) {
	rows := threeRows()
	p, err := compact.NewPlan(rows, lastTwo(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if rows.passes != 1 || rows.given != 3 {
		t.Errorf("%d passes gave %d rows", rows.passes, rows.given)
	}
	if want := (compact.Count{Records: 2, Bytes: 123}); p.Retained != want || p.Moved != 123 || p.Removed.Bytes != 60 {
		t.Errorf("plan %+v", p)
	}
	table := &rowlog.Table{}
	for _, r := range rows.rows {
		if err := table.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if want := lastTwo().Digest(table.Digest(3)); p.Digest != want {
		t.Errorf("digest %x, want %x", p.Digest, want)
	}
	var got []format.PlanRow
	for r, err := range p.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	want := []format.PlanRow{
		{Hash: rows.rows[1].Hash, OffsetOld: 60, OffsetNew: 0, Len: 61},
		{Hash: rows.rows[2].Hash, OffsetOld: 121, OffsetNew: 61, Len: 62},
	}
	if !slices.Equal(got, want) || rows.passes != 2 {
		t.Errorf("rows %v in pass %d", got, rows.passes)
	}
}

func TestAPlanOfRowsThatFailIsNone(t *testing.T) {
	own := errors.New("own")
	for name, c := range map[string]struct {
		spoil func(*cursor)
		want  error
	}{
		"an error":        {func(c *cursor) { c.rows, c.err = c.rows[:2], own }, own},
		"a row too few":   {func(c *cursor) { c.rows = c.rows[:2] }, store.Integration},
		"a row too many":  {func(c *cursor) { c.rows = append(c.rows, c.rows[2]) }, store.Integration},
		"another end":     {func(c *cursor) { c.end++ }, store.Integration},
		"a foreign set":   {func(c *cursor) { c.position = 4 }, store.Integration},
		"rows that cross": {func(c *cursor) { c.rows[2].Offset = 0; c.end = 62 }, store.Integration},
	} {
		t.Run(name, func(t *testing.T) {
			rows := threeRows()
			c.spoil(rows)
			if _, err := compact.NewPlan(rows, lastTwo(), 100); !errors.Is(err, c.want) {
				t.Errorf("NewPlan = %v, want %v", err, c.want)
			}
		})
	}
}
