package index_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/storetest"
)

// A join asks for value after value of one field: the second one builds a
// table of all, which one scan then has served.
func TestTableServesEveryValueOfAField(t *testing.T) {
	rows := newRows(100)
	c := index.NewCache(rows, index.Options{})
	prepare(t, c, 100, keys(value(1)))
	for n := 2; n < 10; n++ {
		var want []store.RecordID
		for id := store.RecordID(n); id <= 100; id += 10 {
			want = append(want, id)
		}
		prepare(t, c, 100, keys(value(n)), want)
	}
	prepare(t, c, 100, keys(index.Key{Shape: store.FieldExact, Name: "Value", Value: "none"}), nil)
	if ids := rows.loaded(); !slices.Equal(ids, span(0, 100)) {
		t.Errorf("scanned %v, want every record once", ids)
	}
	if s := c.Stats(); s.TablesBuilt != 1 || s.ListsBuilt != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTableIsExtendedByExactlyWhatItLacks(t *testing.T) {
	rows := newRows(10)
	c := index.NewCache(rows, index.Options{})
	c.Prepare(keys(value(1)), 0, 10)
	for hi := 10; hi <= 300; hi += 7 {
		rows.loaded()
		n := hi % 10
		var want []store.RecordID
		for id := 1; id <= hi; id++ {
			if id%10 == n {
				want = append(want, store.RecordID(id))
			}
		}
		prepare(t, c, store.Position(hi), keys(value(n)), want)
		lacked := span(store.RecordID(hi-7), store.RecordID(hi))
		if hi == 10 {
			lacked = span(0, 10)
		}
		if ids := rows.loaded(); !slices.Equal(ids, lacked) {
			t.Fatalf("through %d scanned %v, want %v", hi, ids, lacked)
		}
		// At an older boundary it answers as it did.
		prepare(t, c, 10, keys(value(3)), []store.RecordID{3})
		rows.add(numbered(hi, hi+7)...)
	}
}

func TestTableOfLinksAndTheirData(t *testing.T) {
	rows := &testRows{}
	var targets, data []index.Key
	for n := range 20 {
		target := storetest.Absent(n % 5)
		rows.add(storetest.Plex(fmt.Sprint(n),
			storetest.Header{Name: "Ref", Value: fmt.Sprintf("d%d %s", n%4, target)},
			storetest.Header{Name: "Ref", Value: fmt.Sprintf("d%d %s", n%4, target)}))
		targets = append(targets, index.Key{Shape: store.LinkTarget, Value: target.String()})
		data = append(data, index.Key{Shape: store.LinkNameData, Name: "Ref", Value: fmt.Sprintf("d%d", n%4)})
	}
	c := index.NewCache(rows, index.Options{})
	c.Prepare(keys(targets[0]), 0, 20)
	c.Prepare(keys(data[0]), 0, 20)
	for n := 1; n < 4; n++ {
		id := store.RecordID(n + 1)
		prepare(t, c, 20, keys(targets[n]), []store.RecordID{id, id + 5, id + 10, id + 15})
		prepare(t, c, 20, keys(data[n]), []store.RecordID{id, id + 4, id + 8, id + 12, id + 16})
	}
	if s := c.Stats(); s.TablesBuilt != 2 {
		t.Errorf("%+v", s)
	}
}

func TestTablesAreNotBuiltWhereListsArePublished(t *testing.T) {
	d := &memoryDurable{}
	c := index.NewCache(newRows(30), index.Options{Durable: d, Publish: true})
	for range 2 {
		for n := range 5 {
			c.Prepare(keys(value(n)), 0, 30)
		}
	}
	if s := c.Stats(); s.TablesBuilt != 0 || s.ListsPublished != 5 {
		t.Errorf("%+v", s)
	}
}

func TestTableKeepsToTheBudget(t *testing.T) {
	c := index.NewCache(newRows(5000), index.Options{MemoryBytes: 4096})
	for n := range 5 {
		if got := c.Prepare(keys(value(n)), 0, 5000); len(got) != 0 {
			t.Errorf("value %d is narrowed by %d lists", n, len(got))
		}
	}
	if s := c.Stats(); s.ResidentBytes != 0 || s.Scans != 1 || s.Failures != 1 {
		t.Errorf("%+v", s)
	}
}

func TestWalkOverATableSeeks(t *testing.T) {
	rows := newRows(300)
	c := index.NewCache(rows, index.Options{})
	c.Prepare(keys(value(1)), 0, 100)
	c.Prepare(keys(value(2)), 0, 100)
	c.Prepare(keys(value(3)), 0, 130) // a second segment
	walk := c.Prepare(keys(value(4)), 4, 134)[0]
	if walk.Count() != 13 {
		t.Errorf("counts %d, want 13", walk.Count())
	}
	for _, c := range []struct{ seek, want store.RecordID }{
		{1, 14}, {14, 14}, {15, 24}, {94, 94}, {95, 104}, {105, 114}, {134, 134}, {135, 0}, {136, 0}, {math.MaxUint64, 0},
	} {
		if got, err := walk.SeekGE(c.seek); got != c.want || err != nil {
			t.Errorf("seek to %d found %d and %v, want %d", c.seek, got, err, c.want)
		}
	}
}

// A table that covers the first records of a scan gets no second word for
// them.
func TestScanStartsTheTableWhereItEnds(t *testing.T) {
	rows := newRows(30)
	c := index.NewCache(rows, index.Options{})
	c.Prepare(keys(value(1)), 0, 20)
	prepare(t, c, 20, keys(value(2)), []store.RecordID{2, 12})
	c.Expect(query(even))
	prepare(t, c, 30, keys(even, value(2)), every(2, 30), []store.RecordID{2, 12, 22})
}
