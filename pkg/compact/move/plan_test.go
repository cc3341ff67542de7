package move

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// drawPlan draws a plan, as a file and as rows.
func drawPlan(t *rapid.T) (*Plan, []format.PlanRow) {
	var rows []format.PlanRow
	var h format.PlanHeader
	end, longest := uint64(0), uint64(1)
	for i := range rapid.IntRange(1, 40).Draw(t, "records") {
		n := rapid.Uint64Range(1, 50).Draw(t, "len")
		if rapid.Bool().Draw(t, "kept") {
			rows = append(rows, format.PlanRow{
				Hash: record.MakeHash(record.Blob, record.Digest{byte(i)}), OffsetOld: end, OffsetNew: h.OldEnd, Len: n,
			})
			h.OldEnd += n // the new end, for the moment
			longest = max(longest, n)
		}
		h.Boundary++
		end += n
	}
	h.Retained, h.OldEnd = uint64(len(rows)), end
	h.Journal = longest + rapid.Uint64Range(0, 200).Draw(t, "J")
	b := h.AppendTo(nil)
	for _, r := range rows {
		b = r.AppendTo(b)
	}
	f, err := crashfs.New(crashfs.Options{}).OpenFile("/plan", vfs.ReadWrite|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return NewPlan(f, h), rows
}

// TestCuts: batches follow each other without a gap, none is longer than J,
// and exactly the rows whose old range meets the destination are journaled,
// which are a prefix. From a worthwhile gap on none is.
func TestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan, rows := drawPlan(t)
		worth := rapid.Uint64Range(1, 300).Draw(t, "worth")
		c, err := plan.EffectiveCursor(0)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if moves := format.RowIndex(i) >= c; r.Moves() != moves {
				t.Fatalf("row %d moves: %v, effective cursor %d", i, r.Moves(), c)
			}
		}
		for c < plan.Rows() {
			b, err := plan.cut(c, worth)
			if err != nil {
				t.Fatal(err)
			}
			if b.first != c || b.end <= c || b.bytes > plan.Header().Journal {
				t.Fatalf("batch %+v at %d", b, c)
			}
			first, last := rows[b.first], rows[b.end-1]
			if b.destEnd != last.EndNew() || b.bytes != last.EndNew()-first.OffsetNew {
				t.Fatalf("batch %+v of %+v to %+v", b, first, last)
			}
			for i := b.first; i < b.end; i++ {
				r := rows[i]
				meets := r.OffsetOld < last.EndNew() && r.EndOld() > first.OffsetNew
				if meets != (i < b.overlapEnd) {
					t.Fatalf("batch %+v: row %d meets the destination: %v", b, i, meets)
				}
			}
			if gap := first.OffsetOld - first.OffsetNew; gap >= worth && gap >= first.Len && b.overlapEnd > b.first {
				t.Fatalf("batch %+v is journaled with a gap of %d", b, gap)
			}
			c = b.end
		}
	})
}

// TestEffectiveCursorNeverGoesBack: it is at least the cursor.
func TestEffectiveCursorNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan, rows := drawPlan(t)
		cursor := format.RowIndex(rapid.IntRange(0, len(rows)).Draw(t, "cursor"))
		start, err := plan.EffectiveCursor(0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.EffectiveCursor(cursor)
		if err != nil || got != max(cursor, start) {
			t.Errorf("cursor %d, first that moves %d: got %d, %v", cursor, start, got, err)
		}
	})
}
