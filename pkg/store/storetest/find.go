package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/store"
)

// asks is how often the suite repeats a search: often enough that a store
// which builds lists on demand has answered without one, while building it,
// from it, and from it again.
const asks = 4

// topics are records 1 to n: odd ids have the topic odd, even ones even, and
// every third id a link to the first.
func topics(n int) []Record {
	recs := make([]Record, n)
	for i := range recs {
		id := i + 1
		topic := [2]string{"even", "odd"}[id%2]
		headers := []Header{{"Topic", topic}, {"Number", fmt.Sprint(id)}}
		if id%3 == 0 {
			headers = append(headers, Header{"Ref", "first " + recs[0].Hash.String()})
		} else {
			headers = append(headers, Header{"Ref", "none"})
		}
		recs[i] = Plex(fmt.Sprintf("record %d", id), headers...)
	}
	return recs
}

func exact(name, value string) store.Query {
	return where(store.Constraint{Shape: store.FieldExact, Name: name, Value: value})
}

func where(cs ...store.Constraint) store.Query { return store.Query{Constraints: cs} }

func (s suite) testFind(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"empty root":        s.findEmptyRoot,
		"first and last id": s.findEnds,
		"range exclusive below and inclusive above":   s.findRanges,
		"cursor at, below and past the range":         s.findCursor,
		"max rows 0 is empty and complete":            s.findNoRows,
		"max rows 1, exact, one more, unbounded":      s.findMaxRows,
		"read-through above the position fails":       s.findAbovePosition,
		"latest selects the high-water":               s.findLatest,
		"nothing matches":                             s.findNothing,
		"false positives do not count":                s.findFalsePositives,
		"every shape":                                 s.findShapes,
		"exact hash":                                  s.findHash,
		"malformed constraints":                       s.findMalformed,
		"fixed old boundary while commits arrive":     s.findOldBoundary,
		"every page joins up to the unbounded search": s.findPages,
		"operations after close fail":                 s.findClosed,
	} {
		t.Run(name, test)
	}
	if s.caps.LoseRow != nil {
		t.Run("id without a row is corrupt", s.findLostRow)
	}
	if s.caps.Visited != nil {
		t.Run("candidates visited", s.findVisited)
	}
}

func (s suite) findEmptyRoot(t *testing.T) {
	f := s.with(t)
	for _, upper := range []store.Position{0, store.Latest} {
		for _, limit := range []store.Limit{0, 1, store.Unbounded} {
			for range asks {
				f.find(store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: upper, MaxRows: limit})
				f.find(store.FindRecords{UpperInclusive: upper, MaxRows: limit})
			}
		}
	}
	f.agree(store.CurrentStorePosition{})
}

func (s suite) findEnds(t *testing.T) {
	f := s.with(t, topics(9)...)
	for range asks {
		for _, q := range []store.Query{{}, exact("Topic", "odd"), exact("Number", "1"), exact("Number", "9")} {
			res := f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
			if len(res.Records) == 0 {
				t.Fatalf("%+v found nothing", q)
			}
		}
	}
}

func (s suite) findRanges(t *testing.T) {
	f := s.with(t, topics(7)...)
	for range asks {
		for lower := store.Position(0); lower <= 8; lower++ {
			for upper := store.Position(0); upper <= 7; upper++ {
				for _, q := range []store.Query{{}, exact("Topic", "odd")} {
					f.find(store.FindRecords{Query: q, LowerExclusive: lower, UpperInclusive: upper, MaxRows: store.Unbounded})
				}
			}
		}
	}
	f.find(store.FindRecords{LowerExclusive: store.Latest, UpperInclusive: store.Latest, MaxRows: 1})
}

func (s suite) findCursor(t *testing.T) {
	f := s.with(t, topics(9)...)
	for range asks {
		for after := store.RecordID(0); after <= 11; after++ {
			for _, q := range []store.Query{{}, exact("Topic", "odd")} {
				f.find(store.FindRecords{Query: q, LowerExclusive: 2, UpperInclusive: 7, ResumeAfter: after, MaxRows: store.Unbounded})
				f.find(store.FindRecords{Query: q, LowerExclusive: 2, UpperInclusive: 7, ResumeAfter: after, MaxRows: 1})
			}
		}
	}
	f.find(store.FindRecords{UpperInclusive: store.Latest, ResumeAfter: store.RecordID(store.Latest), MaxRows: 1})
}

func (s suite) findNoRows(t *testing.T) {
	f := s.with(t, topics(5)...)
	visited := s.visited(f)
	for range asks {
		res := f.find(store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: store.Latest})
		if len(res.Records) != 0 || !res.Complete || res.ResumeAfter != 0 {
			t.Fatalf("found %+v, want nothing, complete", res)
		}
	}
	if now := s.visited(f); now != visited {
		t.Errorf("visited %d candidates for no rows", now-visited)
	}
	// The boundary is validated before.
	f.agree(store.FindRecords{UpperInclusive: 6})
}

func (s suite) visited(f *fixture) uint64 {
	if s.caps.Visited == nil {
		return 0
	}
	return s.caps.Visited(f.backend)
}

func (s suite) findMaxRows(t *testing.T) {
	f := s.with(t, topics(9)...) // five odd ones
	for range asks {
		for _, limit := range []store.Limit{1, 4, 5, 6, 9, 10, store.Unbounded} {
			for _, q := range []store.Query{{}, exact("Topic", "odd")} {
				f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: limit})
				f.find(store.FindRecords{Query: q, UpperInclusive: 8, MaxRows: limit})
			}
		}
	}
}

func (s suite) findAbovePosition(t *testing.T) {
	f := s.with(t, topics(3)...)
	for _, upper := range []store.Position{4, 5, store.Latest - 1} {
		for _, limit := range []store.Limit{0, 1, store.Unbounded} {
			op := store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: upper, MaxRows: limit}
			f.agree(op)
			op.LowerExclusive = upper
			f.agree(op)
		}
	}
}

func (s suite) findLatest(t *testing.T) {
	f := s.with(t, topics(3)...)
	all := store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded}
	odd := store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: store.Latest, MaxRows: store.Unbounded}
	for n, r := range topics(9)[3:] {
		f.agree(admission(r))
		f.find(odd)
		if res := f.find(all); len(res.Records) != n+4 {
			t.Fatalf("found %d records, want %d", len(res.Records), n+4)
		}
	}
}

func (s suite) findNothing(t *testing.T) {
	f := s.with(t, topics(6)...)
	for range asks {
		for _, q := range []store.Query{
			exact("Topic", "neither"), exact("topic", "odd"), exact("", ""), exact("Topic", ""), {Hash: Absent(1)},
			where(store.Constraint{Shape: store.LinkTarget, Value: "not a hash"}),
			where(store.Constraint{Shape: store.FieldPresence, Name: "\xff"}),
		} {
			res := f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: 3})
			if !res.Complete || len(res.Records) != 0 {
				t.Fatalf("%+v found %v", q, res)
			}
		}
	}
}

// findFalsePositives asks for links by name: the presence list that narrows
// it holds every record with that field, most of which link to nothing.
func (s suite) findFalsePositives(t *testing.T) {
	f := s.with(t, topics(30)...)
	q := where(store.Constraint{Shape: store.LinkName, Name: "Ref"})
	for range asks {
		for limit := store.Limit(1); limit <= 11; limit++ {
			f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: limit})
		}
	}
}

// constraints are of every shape over topics.
func constraints(first Record) []store.Constraint {
	return []store.Constraint{
		{Shape: store.FieldPresence, Name: "Ref"},
		{Shape: store.FieldPresence, Name: ":Type"},
		{Shape: store.FieldExact, Name: "Topic", Value: "odd"},
		{Shape: store.FieldExact, Name: "Topic", Value: "even"},
		{Shape: store.FieldExact, Name: ":Type", Value: "P"},
		{Shape: store.FieldExact, Name: "Number", Value: "12"},
		{Shape: store.FieldPrefix, Name: "Number", Value: "1"},
		{Shape: store.FieldPrefix, Name: "Number", Value: ""},
		{Shape: store.FieldPrefix, Name: "Ref", Value: "first "},
		{Shape: store.LinkTarget, Value: first.Hash.String()},
		{Shape: store.LinkNameData, Name: "Ref", Value: "first"},
		{Shape: store.LinkName, Name: "Ref"},
	}
}

// shapes are queries of every shape over topics, alone and together.
func shapes(first Record) []store.Query {
	cs := constraints(first)
	queries := []store.Query{{}, {Hash: first.Hash}, {Hash: Absent(1), Constraints: cs[:1]}}
	for i, c := range cs {
		queries = append(queries, where(c), store.Query{Hash: first.Hash, Constraints: cs[i : i+1]})
		for _, d := range cs[i:] {
			queries = append(queries, where(c, d), where(d, c, cs[2]))
		}
	}
	return queries
}

func (s suite) findShapes(t *testing.T) {
	recs := topics(15)
	f := s.with(t, append(recs, Blob("a blob"))...)
	for range asks {
		for _, q := range shapes(recs[0]) {
			f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
			f.find(store.FindRecords{Query: q, LowerExclusive: 2, UpperInclusive: 14, MaxRows: 2})
		}
	}
}

func (s suite) findHash(t *testing.T) {
	recs := topics(5)
	f := s.with(t, recs...)
	for i, r := range recs {
		id := store.Position(i + 1)
		q := store.Query{Hash: r.Hash}
		f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: 1})
		f.find(store.FindRecords{Query: q, UpperInclusive: id, MaxRows: 1})
		f.find(store.FindRecords{Query: q, UpperInclusive: id - 1, MaxRows: 1})
		f.find(store.FindRecords{Query: q, LowerExclusive: id, UpperInclusive: store.Latest, MaxRows: 1})
		f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, ResumeAfter: store.RecordID(id), MaxRows: 1})
		q.Constraints = exact("Topic", "odd").Constraints
		f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: 1})
	}
}

func (s suite) findMalformed(t *testing.T) {
	f := s.with(t, topics(3)...)
	for _, c := range []store.Constraint{
		{},
		{Shape: store.LinkName + 1},
		{Shape: store.FieldPresence, Name: "Topic", Value: "odd"},
		{Shape: store.LinkName, Name: "Ref", Value: "first"},
		{Shape: store.LinkTarget, Name: "Ref"},
	} {
		for _, limit := range []store.Limit{0, 1} {
			f.agree(store.FindRecords{Query: where(c), UpperInclusive: store.Latest, MaxRows: limit})
			f.agree(store.FindRecords{Query: where(exact("Topic", "odd").Constraints[0], c), UpperInclusive: store.Latest, MaxRows: limit})
		}
	}
}

// findOldBoundary admits records between the pages of one search; what its
// boundary excludes must never show.
func (s suite) findOldBoundary(t *testing.T) {
	recs := topics(40)
	f := s.with(t, recs[:10]...)
	for round := range asks {
		op := store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: 10, MaxRows: 2}
		var seen []store.RecordID
		for page := 0; ; page++ {
			res := f.find(op)
			seen = append(seen, ids(res.Records)...)
			if res.Complete {
				break
			}
			op.ResumeAfter = res.ResumeAfter
			if next := 10 + round*5 + page; next < len(recs) {
				f.agree(admission(recs[next]))
			}
			f.find(store.FindRecords{Query: op.Query, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
		}
		if want := []store.RecordID{1, 3, 5, 7, 9}; !slices.Equal(seen, want) {
			t.Fatalf("round %d saw %v, want %v", round, seen, want)
		}
	}
}

func (s suite) findPages(t *testing.T) {
	recs := topics(25)
	f := s.with(t, recs...)
	for _, q := range shapes(recs[0]) {
		op := store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: store.Unbounded}
		want := f.find(op)
		for op.MaxRows = 1; op.MaxRows <= 4; op.MaxRows++ {
			if got := f.pages(op); !slices.Equal(got, ids(want.Records)) {
				t.Fatalf("pages of %d of %+v join to %v, want %v", op.MaxRows, q, got, ids(want.Records))
			}
		}
	}
}

// pages follows a search to its end and returns the ids of all its pages.
func (f *fixture) pages(op store.FindRecords) []store.RecordID {
	f.t.Helper()
	got := []store.RecordID{}
	for {
		res := f.find(op)
		got = append(got, ids(res.Records)...)
		if res.Complete {
			return got
		}
		if len(res.Records) == 0 {
			f.t.Fatalf("%+v is empty and incomplete", op)
		}
		op.ResumeAfter = res.ResumeAfter
	}
}

func (s suite) findClosed(t *testing.T) {
	f := s.with(t, topics(2)...)
	b := f.close()
	for _, op := range []store.Op{
		store.CurrentStorePosition{},
		store.FindRecords{UpperInclusive: store.Latest},
		store.ResolveStoreRecordIDs{},
		store.LoadRecordsByHash{},
		store.LoadRecordsByStoreID{},
		store.StoreRecords{},
	} {
		if res, err := b.Execute(op); err == nil || res != nil {
			t.Errorf("%T after close answered %v and %v, want an error alone", op, res, err)
		}
	}
}

func (s suite) findLostRow(t *testing.T) {
	recs := topics(9)
	f := s.with(t, recs...)
	odd := store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: store.Latest, MaxRows: store.Unbounded}
	for range asks {
		f.find(odd) // a list that names the record exists now
	}
	s.caps.LoseRow(t, f.backend, 5)
	meets := []store.Op{
		odd,
		store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded},
		store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 5}}},
	}
	if !s.caps.ListsAtAdmission { // the list of this key is built by a scan
		meets = append(meets, store.FindRecords{Query: exact("Number", "7"), UpperInclusive: store.Latest, MaxRows: 1})
	}
	for _, op := range meets {
		for range asks {
			requireKind(t, f.backend, op, store.CorruptStore)
		}
	}
	// What never meets the hole is answered.
	f.find(store.FindRecords{Query: odd.Query, LowerExclusive: 5, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	f.find(store.FindRecords{UpperInclusive: 4, MaxRows: store.Unbounded})
	f.agree(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 4}, {ID: 6}}})
}

// findVisited checks the diagnostics once the list of odd records exists: the
// candidates of a page and one lookahead, nothing that was skipped.
func (s suite) findVisited(t *testing.T) {
	f := s.with(t, topics(99)...)
	op := store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: store.Latest, MaxRows: store.Unbounded}
	for range asks {
		f.find(op)
	}
	for _, c := range []struct {
		limit store.Limit
		want  uint64
	}{{0, 0}, {1, 2}, {10, 11}, {49, 50}, {50, 50}, {store.Unbounded, 50}} {
		before := s.caps.Visited(f.backend)
		op.MaxRows = c.limit
		f.find(op)
		if got := s.caps.Visited(f.backend) - before; got != c.want {
			t.Errorf("limit %d visited %d candidates, want %d", c.limit, got, c.want)
		}
	}
}
