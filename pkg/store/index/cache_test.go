package index_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/storetest"
)

func keys(ks ...index.Key) []index.Key { return ks }

func TestKeyIsBuiltWhenAskedForAgain(t *testing.T) {
	rows := newRows(30)
	c := index.NewCache(rows, index.Options{})
	prepare(t, c, 30, keys(even))
	if ids := rows.loaded(); ids != nil {
		t.Fatalf("the first time scanned %v", ids)
	}
	prepare(t, c, 30, keys(even), every(2, 30))
	if ids := rows.loaded(); !slices.Equal(ids, span(0, 30)) {
		t.Fatalf("the second time scanned %v, want every record once in order", ids)
	}
	prepare(t, c, 30, keys(even), every(2, 30))
	if ids := rows.loaded(); ids != nil {
		t.Fatalf("the third time scanned %v", ids)
	}
}

func TestOneScanServesAllNewlyHotKeys(t *testing.T) {
	rows := newRows(30)
	c := index.NewCache(rows, index.Options{})
	prepare(t, c, 30, keys(even, third, never))
	prepare(t, c, 30, keys(even, third, never), every(2, 30), every(3, 30), nil)
	if ids := rows.loaded(); !slices.Equal(ids, span(0, 30)) {
		t.Errorf("scanned %v, want every record once", ids)
	}
}

func TestExpectedQueriesShareOneScan(t *testing.T) {
	rows := newRows(30)
	c := index.NewCache(rows, index.Options{})
	c.Expect(query(even), query(third, value(4)), query(value(5)), store.Query{Hash: rows.records[0].Hash})
	prepare(t, c, 30, keys(value(4)), []store.RecordID{4, 14, 24})
	prepare(t, c, 30, keys(third), every(3, 30))
	prepare(t, c, 30, keys(even), every(2, 30))
	prepare(t, c, 30, keys(value(5)), []store.RecordID{5, 15, 25})
	if ids := rows.loaded(); !slices.Equal(ids, span(0, 30)) {
		t.Errorf("scanned %v, want every record once", ids)
	}
}

// Windows of growing upper bounds cost one pass over the root in all, not one
// for each key and window.
func TestWindowsExtendAllHotListsTogether(t *testing.T) {
	rows := newRows(90)
	c := index.NewCache(rows, index.Options{})
	c.Expect(query(even), query(third))
	for _, hi := range []store.RecordID{30, 60, 90} {
		for range 3 {
			prepare(t, c, store.Position(hi), keys(even), every(2, hi))
			prepare(t, c, store.Position(hi), keys(third), every(3, hi))
		}
	}
	if ids := rows.loaded(); !slices.Equal(ids, span(0, 90)) {
		t.Errorf("scanned %v, want every record once", ids)
	}
}

func TestLaggingHotListIsRepairedByExactlyWhatItLacks(t *testing.T) {
	rows := newRows(40)
	c := index.NewCache(rows, index.Options{})
	prepare(t, c, 20, keys(even))
	prepare(t, c, 20, keys(even), every(2, 20))
	rows.loaded()
	prepare(t, c, 33, keys(even), every(2, 33))
	if ids := rows.loaded(); !slices.Equal(ids, span(20, 33)) {
		t.Errorf("scanned %v, want (20, 33]", ids)
	}
}

func TestLaggingDurableListIsRepairedByExactlyWhatItLacks(t *testing.T) {
	rows := newRows(40)
	d := &memoryDurable{lists: map[index.Key][]byte{even: posting(every(2, 10), 10).AppendTo(nil)}}
	c := index.NewCache(rows, index.Options{Durable: d})
	prepare(t, c, 25, keys(even), every(2, 25))
	// Record 10 is looked at to trust the sentinel.
	if ids := rows.loaded(); !slices.Equal(ids, append([]store.RecordID{10}, span(10, 25)...)) {
		t.Errorf("scanned %v, want (10, 25]", ids)
	}
	if len(d.published) != 0 {
		t.Errorf("published %v", d.published)
	}
}

// A list that was extended for a late boundary answers an early one as ever:
// what a hot list got later lies above the bound of the query.
func TestBorrowedHotListAtOldBoundary(t *testing.T) {
	rows := newRows(20)
	c := index.NewCache(rows, index.Options{})
	prepare(t, c, 20, keys(even))
	held := c.Prepare(keys(even), 0, 20)
	if len(held) != 1 {
		t.Fatal("no list was built")
	}
	if _, err := held[0].SeekGE(1); err != nil {
		t.Fatal(err)
	}
	rows.add(numbered(20, 50)...)
	prepare(t, c, 50, keys(even), every(2, 50))
	if got := drain(t, held[0]); !slices.Equal(got, every(2, 20)) {
		t.Errorf("the walk of the old boundary goes on over %v", got)
	}
	prepare(t, c, 20, keys(even), every(2, 20))
}

// A query over two cold lists, in a cache that has room for one, goes on with
// the first although reading the second evicts it.
func TestQueryHeldColdListSurvivesEviction(t *testing.T) {
	rows := newRows(30)
	d := &memoryDurable{lists: map[index.Key][]byte{
		even:  posting(every(2, 12), 12).AppendTo(nil),
		third: posting(every(3, 15), 15).AppendTo(nil),
	}}
	c := index.NewCache(rows, index.Options{Durable: d, ColdLists: 1, Keys: 100})
	// Eviction makes a key cold again, so that each round reads both lists.
	for range 3 {
		prepare(t, c, 30, keys(even, third), every(2, 30), every(3, 30))
	}
	if s := c.Stats(); s.ListsEvicted == 0 {
		t.Error("nothing was evicted, so that nothing was shown")
	}
}

// A cold list may be held by a query while it is repaired: it is replaced.
func TestColdListIsReplacedNotMutated(t *testing.T) {
	rows := newRows(30)
	d := &memoryDurable{lists: map[index.Key][]byte{even: posting(every(2, 12), 12).AppendTo(nil)}}
	c := index.NewCache(rows, index.Options{Durable: d})
	held := c.Prepare(keys(even), 0, 12)
	prepare(t, c, 30, keys(even), every(2, 30))
	if got := drain(t, held[0]); !slices.Equal(got, every(2, 12)) {
		t.Errorf("the held list became %v", got)
	}
}

func TestColdListsAreBounded(t *testing.T) {
	rows := newRows(40)
	d := &memoryDurable{lists: map[index.Key][]byte{}}
	for n := range 10 {
		var ids []store.RecordID
		for id := store.RecordID(max(n, 10-10*min(n, 1))); id <= 40; id += 10 {
			ids = append(ids, id)
		}
		d.lists[value(n)] = posting(ids, 40).AppendTo(nil)
	}
	c := index.NewCache(rows, index.Options{Durable: d, ColdLists: 3})
	for n := range 10 {
		if got := c.Prepare(keys(value(n)), 0, 40); len(got) != 1 {
			t.Fatalf("value %d is narrowed by %d lists", n, len(got))
		}
		if s := c.Stats(); s.ResidentColdLen > 3 {
			t.Fatalf("%d cold lists are resident", s.ResidentColdLen)
		}
	}
	if s := c.Stats(); s.ListsRead != 10 || s.ListsEvicted != 7 || s.Failures != 0 {
		t.Errorf("read %d and evicted %d lists: %v", s.ListsRead, s.ListsEvicted, s.LastFailure)
	}
}

func TestUnusableDurableListFallsBack(t *testing.T) {
	for name, src := range map[string][]byte{
		"oversized":             make([]byte, 8*32),
		"torn":                  words(2, 4, 30)[:20],
		"unsorted":              words(4, 2, 30),
		"out of range":          words(2, 31, 31),
		"empty file":            {},
		"cut behind a word":     words(2, 4, 6), // checked through 6, which it lacks
		"wrong about the last":  words(2, 29),   // record 29 is not even, and is not listed: see below
		"last that is no match": words(2, 29, 29),
	} {
		rows := newRows(30)
		d := &memoryDurable{lists: map[index.Key][]byte{even: src}}
		c := index.NewCache(rows, index.Options{Durable: d})
		if name == "wrong about the last" {
			// A list that lacks ids further below is beyond what a look at
			// one record can tell; listdir.Check finds it.
			if s := len(c.Prepare(keys(even), 0, 29)); s != 1 {
				t.Errorf("%s: narrows by %d lists", name, s)
			}
			continue
		}
		// Its path made the key warm, so that it is built at once.
		prepare(t, c, 30, keys(even), every(2, 30))
		s := c.Stats()
		if s.Failures != 1 || s.LastFailure == nil || s.ListsBuilt != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		prepare(t, c, 30, keys(even), every(2, 30))
		if len(d.reads) != 1 {
			t.Errorf("%s: was read %d times", name, len(d.reads))
		}
	}
}

func TestPublishesWhatCoversTheHighWaterAndSavesAScan(t *testing.T) {
	rows := newRows(30)
	d := &memoryDurable{}
	c := index.NewCache(rows, index.Options{Durable: d, Publish: true})
	prepare(t, c, 20, keys(even))
	prepare(t, c, 20, keys(even), every(2, 20))
	if len(d.published) != 0 {
		t.Fatalf("published %v, which does not cover the high-water", d.published)
	}
	prepare(t, c, 30, keys(even), every(2, 30))
	if !slices.Equal(d.published, keys(even)) {
		t.Fatalf("published %v, want %v", d.published, keys(even))
	}
	for range 5 {
		prepare(t, c, 30, keys(even), every(2, 30))
	}
	rows.add(numbered(30, 31)...)
	prepare(t, c, 31, keys(even), every(2, 31))
	if len(d.published) != 1 {
		t.Fatalf("published %v for one more record", d.published)
	}
	// Once the one record more has cost another scan's worth of visits,
	// writing the list again pays.
	for range 40 {
		prepare(t, c, 31, keys(even), every(2, 31))
	}
	if len(d.published) != 2 {
		t.Fatalf("published %d times, want 2", len(d.published))
	}
	again := index.NewCache(rows, index.Options{Durable: d})
	rows.loaded()
	prepare(t, again, 31, keys(even), every(2, 31))
	if ids := rows.loaded(); !slices.Equal(ids, []store.RecordID{31}) {
		t.Errorf("the next opening scanned %v", ids)
	}
}

func TestNeverPublishesWithoutPublish(t *testing.T) {
	d := &memoryDurable{}
	c := index.NewCache(newRows(30), index.Options{Durable: d})
	for range 10 {
		c.Prepare(keys(even, third), 0, 30)
	}
	if len(d.published) != 0 {
		t.Errorf("published %v", d.published)
	}
}

func TestFailedPublicationIsNotRepeated(t *testing.T) {
	d := &memoryDurable{fail: errUnreadable}
	c := index.NewCache(newRows(30), index.Options{Durable: d, Publish: true})
	prepare(t, c, 30, keys(even))
	for range 5 {
		prepare(t, c, 30, keys(even), every(2, 30))
	}
	if s := c.Stats(); s.Failures != 1 || !errors.Is(s.LastFailure, errUnreadable) {
		t.Errorf("failed %d times, last %v", s.Failures, s.LastFailure)
	}
}

func TestLongKeyIsBuiltButNeverPublished(t *testing.T) {
	long := index.Key{Shape: store.FieldPresence, Name: fmt.Sprintf("%0130d", 1)}
	rows := newRows(5)
	rows.add(storetest.Plex("long", storetest.Header{Name: long.Name, Value: "v"}))
	d := &memoryDurable{}
	c := index.NewCache(rows, index.Options{Durable: d, Publish: true})
	prepare(t, c, 6, keys(long))
	for range 3 {
		prepare(t, c, 6, keys(long), []store.RecordID{6})
	}
	if s := c.Stats(); len(d.lists) != 0 || s.ListsPublished != 0 || s.Failures != 0 {
		t.Errorf("%d lists, %+v", len(d.lists), s)
	}
}

func TestUnreadableRecordDiscardsTheBuild(t *testing.T) {
	rows := newRows(30)
	rows.broken = 17
	c := index.NewCache(rows, index.Options{})
	for range 4 {
		prepare(t, c, 30, keys(even))
	}
	if s := c.Stats(); s.Scans != 1 || !errors.Is(s.LastFailure, errBroken) || s.ResidentBytes != 0 {
		t.Errorf("%+v", s)
	}
	// A hot list that cannot be extended is dropped whole: what was appended
	// to it is not covered.
	rows.broken = 0
	c = index.NewCache(rows, index.Options{})
	prepare(t, c, 10, keys(even))
	prepare(t, c, 10, keys(even), every(2, 10))
	rows.broken = 17
	prepare(t, c, 30, keys(even))
	rows.broken = 0
	prepare(t, c, 30, keys(even))
	if s := c.Stats(); s.ResidentBytes != 0 || s.ResidentHotLen != 0 {
		t.Errorf("%+v", s)
	}
}

func TestMemoryBudget(t *testing.T) {
	rows := newRows(1000)
	c := index.NewCache(rows, index.Options{MemoryBytes: 1500})
	var built int
	for range 3 {
		for _, k := range keys(even, third, index.Key{Shape: store.FieldPresence, Name: "Value"}, index.Key{Shape: store.FieldPrefix, Name: "Name", Value: "9"}) {
			c.Prepare(keys(k), 0, 1000)
			if s := c.Stats(); s.ResidentBytes > 1500 {
				t.Fatalf("%d bytes are resident", s.ResidentBytes)
			}
			built += c.Stats().ResidentHotLen
		}
	}
	if s := c.Stats(); built == 0 || s.ListsEvicted == 0 {
		t.Errorf("%+v", s)
	}
}

func TestKeysThatAreRememberedAreBounded(t *testing.T) {
	c := index.NewCache(newRows(3), index.Options{Keys: 4, MemoryBytes: 1 << 20})
	for n := range 1000 {
		c.Prepare(keys(index.Key{Shape: store.FieldPresence, Name: fmt.Sprint(n)}), 0, 3)
		c.Prepare(keys(index.Key{Shape: store.FieldPresence, Name: fmt.Sprint(n)}), 0, 3)
		if s := c.Stats(); s.ResidentHotLen+s.ResidentColdLen > 4 {
			t.Fatalf("%d lists of 4 keys", s.ResidentHotLen+s.ResidentColdLen)
		}
	}
}

func TestPresenceNarrowsAKeyWithoutAList(t *testing.T) {
	rows := newRows(30)
	c := index.NewCache(rows, index.Options{})
	prepare(t, c, 30, keys(even))
	prepare(t, c, 30, keys(even), every(2, 30))
	rows.loaded()
	prepare(t, c, 30, keys(index.Key{Shape: store.FieldExact, Name: "Even", Value: "yes"}), every(2, 30))
	prepare(t, c, 30, keys(
		index.Key{Shape: store.FieldPrefix, Name: "Even", Value: "y"},
		index.Key{Shape: store.LinkNameData, Name: "Even", Value: "d"},
	), every(2, 30))
	if ids := rows.loaded(); ids != nil {
		t.Errorf("scanned %v", ids)
	}
}

// A scan that starts early passes lists that cover its first records already,
// and must leave them alone, even where such a list is wrong.
func TestScanStartsEachListWhereItEnds(t *testing.T) {
	rows := newRows(30)
	d := &memoryDurable{lists: map[index.Key][]byte{even: posting([]store.RecordID{2}, 9).AppendTo(nil)}}
	c := index.NewCache(rows, index.Options{Durable: d})
	c.Expect(query(third))
	prepare(t, c, 30, keys(even, third), append([]store.RecordID{2}, every(2, 30)[4:]...), every(3, 30))
	if ids := rows.loaded(); !slices.Equal(ids, append([]store.RecordID{9}, span(0, 30)...)) {
		t.Errorf("scanned %v", ids)
	}
}

// A list that ends before a scan starts must not join it: it would lack what
// lies between.
func TestListBehindAScanDoesNotJoinIt(t *testing.T) {
	rows := newRows(30)
	d := &memoryDurable{lists: map[index.Key][]byte{third: posting(every(3, 20), 20).AppendTo(nil)}}
	c := index.NewCache(rows, index.Options{Durable: d})
	prepare(t, c, 10, keys(even))
	prepare(t, c, 10, keys(even), every(2, 10))
	c.Prepare(keys(value(1)), 0, 10)
	prepare(t, c, 10, keys(value(2)), []store.RecordID{2})
	rows.loaded()
	prepare(t, c, 30, keys(third), every(3, 30))
	if ids := rows.loaded(); !slices.Equal(ids, append([]store.RecordID{20}, span(20, 30)...)) {
		t.Errorf("scanned %v, want (20, 30]", ids)
	}
	// Both lack the same, so that one scan serves the list and the table.
	prepare(t, c, 30, keys(even), every(2, 30))
	prepare(t, c, 30, keys(value(2)), []store.RecordID{2, 12, 22})
	if ids := rows.loaded(); !slices.Equal(ids, span(10, 30)) {
		t.Errorf("scanned %v, want (10, 30]", ids)
	}
}
