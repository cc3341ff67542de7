package index_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

// Whatever is asked in whatever order, under bounds that are always too
// small, every list that narrows a key holds all its records, and the books
// of the cache balance.
func TestCacheUnderTightBounds(t *testing.T) {
	asked := []index.Key{
		even, third, never, {Shape: store.FieldPresence, Name: "Third"},
		{Shape: store.FieldPresence, Name: "Value"}, {Shape: store.FieldPrefix, Name: "Name", Value: "1"},
		value(1), value(2), value(3), value(4),
	}
	rapid.Check(t, func(t *rapid.T) {
		rows := newRows(rapid.IntRange(0, 60).Draw(t, "records"))
		durable := &memoryDurable{}
		opts := func() index.Options {
			return index.Options{
				MemoryBytes: rapid.SampledFrom([]int64{1, 100, 300, 1000, 0}).Draw(t, "memory"),
				ColdLists:   rapid.IntRange(1, 3).Draw(t, "cold"),
				Keys:        rapid.IntRange(1, 12).Draw(t, "keys"),
				Durable:     durable,
				Publish:     rapid.Bool().Draw(t, "publish"),
			}
		}
		c := index.NewCache(rows, opts())
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if err := c.Account(); err != nil {
					t.Fatal(err)
				}
			},
			"admit": func(t *rapid.T) {
				n := len(rows.records)
				rows.add(numbered(n, n+rapid.IntRange(1, 9).Draw(t, "more"))...)
			},
			"reopen": func(*rapid.T) { c = index.NewCache(rows, opts()) },
			"expect": func(t *rapid.T) { c.Expect(query(rapid.SampledFrom(asked).Draw(t, "key"))) },
			"break":  func(t *rapid.T) { rows.broken = store.RecordID(rapid.IntRange(0, 200).Draw(t, "id")) },
			"ask": func(t *rapid.T) {
				ks := rapid.SliceOfNDistinct(rapid.SampledFrom(asked), 1, 3, rapid.ID).Draw(t, "keys")
				hi := store.Position(rapid.IntRange(0, len(rows.records)).Draw(t, "hi"))
				if rapid.Bool().Draw(t, "latest") {
					hi = rows.Position()
				}
				lo := store.Position(rapid.IntRange(0, int(hi)).Draw(t, "lo"))
				if err := holdsAll(rows, c.Prepare(ks, lo, hi), ks, lo, hi); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// holdsAll checks that no list leaves out a record that satisfies all keys,
// and that each stays inside the range.
func holdsAll(rows *testRows, lists []index.Candidates, ks []index.Key, lo, hi store.Position) error {
	var want []store.RecordID
	for _, rec := range rows.records[lo:hi] {
		ok, err := index.Match(rec, query(ks...))
		if err != nil {
			return err
		}
		if ok {
			want = append(want, rec.ID)
		}
	}
	for _, list := range lists {
		var got []store.RecordID
		for at := store.RecordID(lo) + 1; ; {
			id, err := list.SeekGE(at)
			if err != nil {
				return err
			}
			if id == 0 {
				break
			}
			got = append(got, id)
			at = id + 1
		}
		if len(got) > 0 && store.Position(got[len(got)-1]) > hi || uint64(len(got)) != list.Count() {
			return fmt.Errorf("list of (%d, %d] holds %v and counts %d", lo, hi, got, list.Count())
		}
		for _, id := range want {
			if !slices.Contains(got, id) {
				return fmt.Errorf("%v over (%d, %d]: list %v lacks %d", ks, lo, hi, got, id)
			}
		}
	}
	return nil
}
