package index_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/storetest"
)

// testRows are rows in memory that count their loads.
type testRows struct {
	records []store.Record
	loads   []store.RecordID
	broken  store.RecordID // loading it fails
}

var errBroken = errors.New("broken row")

func (r *testRows) add(recs ...storetest.Record) {
	for _, rec := range recs {
		r.records = append(r.records, store.Record{ID: store.RecordID(len(r.records) + 1), Hash: rec.Hash, Bytes: rec.Bytes})
	}
}

func (r *testRows) Position() store.Position { return store.Position(len(r.records)) }

func (r *testRows) Lookup(h record.Hash) (store.RecordID, error) {
	i := slices.IndexFunc(r.records, func(rec store.Record) bool { return rec.Hash == h })
	return store.RecordID(i + 1), nil
}

func (r *testRows) Load(id store.RecordID) (store.Record, error) {
	r.loads = append(r.loads, id)
	if id == r.broken {
		return store.Record{}, errBroken
	}
	return r.records[id-1], nil
}

// loaded returns the loads since the last call.
func (r *testRows) loaded() []store.RecordID {
	ids := r.loads
	r.loads = nil
	return ids
}

// span returns the ids of (lo, hi].
func span(lo, hi store.RecordID) []store.RecordID {
	var ids []store.RecordID
	for id := lo + 1; id <= hi; id++ {
		ids = append(ids, id)
	}
	return ids
}

// every returns the ids of (0, hi] that n divides.
func every(n, hi store.RecordID) []store.RecordID {
	var ids []store.RecordID
	for id := n; id <= hi; id += n {
		ids = append(ids, id)
	}
	return ids
}

// numbered returns records whose field Even is there for every second, Third
// for every third, and Value tells the number modulo ten.
func numbered(lo, hi int) []storetest.Record {
	var recs []storetest.Record
	for n := lo + 1; n <= hi; n++ {
		headers := []storetest.Header{{Name: "Value", Value: fmt.Sprint(n % 10)}}
		if n%2 == 0 {
			headers = append(headers, storetest.Header{Name: "Even", Value: "yes"})
		}
		if n%3 == 0 {
			headers = append(headers, storetest.Header{Name: "Third", Value: "yes"})
		}
		recs = append(recs, storetest.Plex(fmt.Sprint(n), headers...))
	}
	return recs
}

func newRows(n int) *testRows {
	r := &testRows{}
	r.add(numbered(0, n)...)
	return r
}

var (
	even  = index.Key{Shape: store.FieldPresence, Name: "Even"}
	third = index.Key{Shape: store.FieldExact, Name: "Third", Value: "yes"}
	never = index.Key{Shape: store.LinkTarget, Value: "nothing"}
)

func value(n int) index.Key {
	return index.Key{Shape: store.FieldExact, Name: "Value", Value: fmt.Sprint(n)}
}

func query(keys ...index.Key) store.Query {
	var q store.Query
	for _, k := range keys {
		q.Constraints = append(q.Constraints, store.Constraint(k))
	}
	return q
}

// drain returns every id of a walk.
func drain(t *testing.T, c index.Candidates) []store.RecordID {
	t.Helper()
	ids := []store.RecordID{}
	for at := store.RecordID(1); ; {
		id, err := c.SeekGE(at)
		if err != nil {
			t.Fatal(err)
		}
		if id == 0 {
			return ids
		}
		ids = append(ids, id)
		at = id + 1
	}
}

// prepare asks the cache and requires that it narrows by these lists, in any
// order.
func prepare(t *testing.T, c *index.Cache, hi store.Position, keys []index.Key, want ...[]store.RecordID) {
	t.Helper()
	got := c.Prepare(keys, 0, hi)
	if len(got) != len(want) {
		t.Fatalf("narrows by %d lists, want %d", len(got), len(want))
	}
	for i, walk := range got {
		if walk.Count() != uint64(len(want[i])) {
			t.Fatalf("list %d counts %d, want %d", i, walk.Count(), len(want[i]))
		}
		if ids := drain(t, walk); !slices.Equal(ids, append([]store.RecordID{}, want[i]...)) {
			t.Fatalf("list %d holds %v, want %v", i, ids, want[i])
		}
	}
}

// memoryDurable keeps list files in a map.
type memoryDurable struct {
	lists     map[index.Key][]byte
	published []index.Key
	reads     []index.Key
	fail      error
}

func (d *memoryDurable) Keys(yield func(index.Key) bool) error {
	for k := range d.lists {
		if !yield(k) {
			return nil
		}
	}
	return nil
}

func (d *memoryDurable) Read(k index.Key, highWater store.Position) (*index.Posting, error) {
	d.reads = append(d.reads, k)
	src, ok := d.lists[k]
	if !ok {
		return nil, nil
	}
	return index.DecodePosting(src, highWater)
}

func (d *memoryDurable) Publish(k index.Key, p *index.Posting) (bool, error) {
	if d.fail != nil {
		return false, d.fail
	}
	if _, ok := k.Path(); !ok {
		return false, nil
	}
	if d.lists == nil {
		d.lists = make(map[index.Key][]byte)
	}
	d.lists[k] = p.AppendTo(nil)
	d.published = append(d.published, k)
	return true, nil
}
