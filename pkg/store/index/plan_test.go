package index_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/storetest"
)

func TestKeysOfQuery(t *testing.T) {
	presence := func(n string) store.Constraint { return store.Constraint{Shape: store.FieldPresence, Name: n} }
	exact := store.Constraint{Shape: store.FieldExact, Name: "a", Value: "v"}
	prefix := store.Constraint{Shape: store.FieldPrefix, Name: "a", Value: "v"}
	target := store.Constraint{Shape: store.LinkTarget, Value: "h"}
	data := store.Constraint{Shape: store.LinkNameData, Name: "a", Value: "d"}
	link := store.Constraint{Shape: store.LinkName, Name: "a"}
	for _, c := range []struct {
		name  string
		query []store.Constraint
		want  []store.Constraint
	}{
		{"nothing", nil, nil},
		{"presence alone", []store.Constraint{presence("a")}, []store.Constraint{presence("a")}},
		{"link name is presence", []store.Constraint{link}, []store.Constraint{presence("a")}},
		{"presence and link name", []store.Constraint{link, presence("a")}, []store.Constraint{presence("a")}},
		{"implied by exact", []store.Constraint{presence("a"), exact}, []store.Constraint{exact}},
		{"implied by prefix", []store.Constraint{prefix, presence("a")}, []store.Constraint{prefix}},
		{"implied by link data", []store.Constraint{link, data}, []store.Constraint{data}},
		{"not implied by a target", []store.Constraint{link, target}, []store.Constraint{presence("a"), target}},
		{"other field", []store.Constraint{presence("b"), exact}, []store.Constraint{presence("b"), exact}},
		{"unnamed field and target", []store.Constraint{presence(""), target}, []store.Constraint{presence(""), target}},
		{"repeats", []store.Constraint{exact, exact, prefix}, []store.Constraint{exact, prefix}},
	} {
		var want []index.Key
		for _, k := range c.want {
			want = append(want, index.Key(k))
		}
		if got := index.KeysOf(store.Query{Constraints: c.query}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// fixedLists answers every key with a list of its own and records what it was
// asked.
type fixedLists struct {
	lists [][]store.RecordID
	asked int
	seeks []int // per list
	err   error
}

func (f *fixedLists) Prepare(_ []index.Key, lo, hi store.Position) []index.Candidates {
	f.asked++
	f.seeks = make([]int, len(f.lists))
	var out []index.Candidates
	for i, ids := range f.lists {
		out = append(out, &countedWalk{Candidates: posting(ids, 1<<40).Candidates(lo, hi), seeks: &f.seeks[i], err: f.err})
	}
	return out
}

type countedWalk struct {
	index.Candidates
	seeks *int
	err   error
}

func (w *countedWalk) SeekGE(id store.RecordID) (store.RecordID, error) {
	*w.seeks++
	if w.err != nil {
		return 0, w.err
	}
	return w.Candidates.SeekGE(id)
}

// all is a query that every numbered record satisfies, though the planner
// asks for a list.
func all() store.Query {
	return store.Query{Constraints: []store.Constraint{{Shape: store.FieldPresence, Name: "Value"}}}
}

func TestIntersectionIsTheCommonIDs(t *testing.T) {
	rows := newRows(40)
	rapid.Check(t, func(t *rapid.T) {
		var f fixedLists
		for range rapid.IntRange(1, 4).Draw(t, "lists") {
			set := rapid.SliceOfDistinct(rapid.Uint64Range(1, 40), rapid.ID).Draw(t, "list")
			slices.Sort(set)
			ids := []store.RecordID{}
			for _, id := range set {
				ids = append(ids, store.RecordID(id))
			}
			f.lists = append(f.lists, ids)
		}
		lo := store.Position(rapid.Uint64Range(0, 40).Draw(t, "lo"))
		hi := store.Position(rapid.Uint64Range(0, 40).Draw(t, "hi"))
		want := within(f.lists[0], lo, hi)
		for _, list := range f.lists[1:] {
			want = slices.DeleteFunc(want, func(id store.RecordID) bool { return !slices.Contains(list, id) })
		}
		res, err := index.NewReader(rows, &f).Find(store.FindRecords{Query: all(), LowerExclusive: lo, UpperInclusive: hi, MaxRows: store.Unbounded})
		if err != nil {
			t.Fatal(err)
		}
		got := []store.RecordID{}
		for _, rec := range res.Records {
			got = append(got, rec.ID)
		}
		if !slices.Equal(got, want) || !res.Complete {
			t.Fatalf("found %v, want %v", got, want)
		}
	})
}

// The list that is shortest inside the range drives: the long one is sought
// once for each of its ids, however long it is.
func TestIntersectionIsDrivenByTheShortestBoundedList(t *testing.T) {
	rows := newRows(200)
	// Over the whole root the first list is the shorter one; above 150 the
	// second is.
	f := fixedLists{lists: [][]store.RecordID{span(140, 200), append(span(0, 150), 160, 170, 180)}}
	res, err := index.NewReader(rows, &f).Find(store.FindRecords{Query: all(), LowerExclusive: 150, UpperInclusive: 200, MaxRows: store.Unbounded})
	if err != nil || len(res.Records) != 3 {
		t.Fatalf("found %d records, %v", len(res.Records), err)
	}
	if f.seeks[0] > 3 || f.seeks[1] > 4 {
		t.Errorf("sought the long list %d times and the short one %d times", f.seeks[0], f.seeks[1])
	}
}

func TestNoListIsTouchedWithoutNeed(t *testing.T) {
	rows := newRows(10)
	for name, op := range map[string]store.FindRecords{
		"no rows asked for":    {Query: all(), UpperInclusive: store.Latest},
		"empty range":          {Query: all(), LowerExclusive: 5, UpperInclusive: 5, MaxRows: 1},
		"cursor past range":    {Query: all(), UpperInclusive: 5, ResumeAfter: 5, MaxRows: 1},
		"exact hash":           {Query: store.Query{Hash: rows.records[3].Hash, Constraints: all().Constraints}, UpperInclusive: 10, MaxRows: 1},
		"no constraint":        {UpperInclusive: 10, MaxRows: 1},
		"boundary that fails":  {Query: all(), UpperInclusive: 11, MaxRows: 1},
		"malformed constraint": {Query: store.Query{Constraints: []store.Constraint{{}}}, UpperInclusive: 10, MaxRows: 1},
	} {
		f := fixedLists{lists: [][]store.RecordID{span(0, 10)}}
		r := index.NewReader(rows, &f)
		_, err := r.Find(op)
		if fails := name == "boundary that fails" || name == "malformed constraint"; fails != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if f.asked != 0 {
			t.Errorf("%s: lists were asked for", name)
		}
	}
}

func TestReadsFail(t *testing.T) {
	t.Run("list that cannot be walked", func(t *testing.T) {
		f := fixedLists{lists: [][]store.RecordID{span(0, 9)}, err: errUnreadable}
		if _, err := index.NewReader(newRows(9), &f).Find(store.FindRecords{Query: all(), UpperInclusive: 9, MaxRows: 1}); !errors.Is(err, errUnreadable) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("candidate that cannot be loaded counts as visited", func(t *testing.T) {
		rows := newRows(9)
		rows.broken = 3
		r := index.NewReader(rows, nil)
		if _, err := r.Find(store.FindRecords{UpperInclusive: 9, MaxRows: store.Unbounded}); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if r.CandidatesVisited() != 3 {
			t.Errorf("visited %d candidates, want 3", r.CandidatesVisited())
		}
	})
	t.Run("candidate without a row is corrupt", func(t *testing.T) {
		rows := newRows(9)
		rows.records[2] = store.Record{}
		r := index.NewReader(rows, &fixedLists{lists: [][]store.RecordID{{2, 3, 4}}})
		_, err := r.Execute(store.FindRecords{Query: all(), UpperInclusive: 9, MaxRows: store.Unbounded})
		var e *store.Error
		if !errors.As(err, &e) || e.Kind != store.CorruptStore || e.ID != 3 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("row of another hash is corrupt", func(t *testing.T) {
		rows := newRows(9)
		lying := lyingRows{rows}
		res, err := index.NewReader(lying, nil).Execute(store.LoadRecordsByHash{Hashes: hashes(rows, 3)})
		if !errors.Is(err, store.CorruptStore) || res != nil {
			t.Errorf("got %v and %v", res, err)
		}
	})
	t.Run("record that is none is corrupt", func(t *testing.T) {
		rows := newRows(3)
		rows.records[1].Bytes = []byte("no record")
		_, err := index.NewReader(rows, nil).Find(store.FindRecords{Query: all(), UpperInclusive: 3, MaxRows: store.Unbounded})
		if !errors.Is(err, store.CorruptStore) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("admission is no read", func(t *testing.T) {
		res, err := index.NewReader(newRows(1), nil).Execute(store.StoreRecords{})
		if !errors.Is(err, store.Integration) || res != nil {
			t.Errorf("got %v and %v", res, err)
		}
	})
}

func TestMatchHoldsTheExactHash(t *testing.T) {
	rows := newRows(2)
	q := store.Query{Hash: rows.records[0].Hash, Constraints: all().Constraints}
	for i, want := range []bool{true, false} {
		if got, err := index.Match(rows.records[i], q); got != want || err != nil {
			t.Errorf("record #%d: %t and %v, want %t", i+1, got, err, want)
		}
	}
}

// The matcher decides each shape as the oracle of the suite does.
func TestMatchAgainstLinearStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Backend { return &scanStore{} }, storetest.Capabilities{})
}
