package sweep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
)

// logging is a store that remembers what it was asked.
type logging struct {
	store.Backend
	ops []store.Op
}

func (l *logging) Execute(op store.Op) (store.Result, error) {
	l.ops = append(l.ops, op)
	return l.Backend.Execute(op)
}

// searches renders the first page of every search.
func (l *logging) searches() []string {
	shapes := [...]string{"", "presence", "exact", "prefix", "target", "link data", "link"}
	var out []string
	for _, op := range l.ops {
		find, ok := op.(store.FindRecords)
		if !ok || find.ResumeAfter != 0 {
			continue
		}
		text := fmt.Sprintf("(%d,%d]", find.LowerExclusive, find.UpperInclusive)
		for _, c := range find.Query.Constraints {
			text += fmt.Sprintf(" %s", shapes[c.Shape])
			for _, part := range []string{c.Name, c.Value} {
				if part != "" {
					text += " " + part
				}
			}
		}
		out = append(out, text)
	}
	return out
}

// TestWindowBounds asserts the searches of each window: the range of what is
// rooted at the selected record is the window, everything else sees the whole
// root, and what does not depend on the window is derived once.
func TestWindowBounds(t *testing.T) {
	r := makeRoot(t,
		"a Topic=x Pin=1", "b Topic=x Ref=@a", "c Topic=y Half=a Ref=@b", "d Topic=y Ref=@a",
		"e Topic=x Ref=@c", "f Topic=y Ref=@d", "g Topic=x Pin=1 Ref=@f")
	for name, c := range map[string]struct {
		policy string
		want   []string
	}{
		"exact field": {`SelectStoredRecord(R) :- Field(R,'Topic',_,'x').`,
			[]string{"(0,3] exact Topic x", "(3,6] exact Topic x", "(6,7] exact Topic x"}},
		"prefix field": {`SelectStoredRecord(R) :- Field(R,'Topic',_,t), Prefix(t,'x').`,
			[]string{"(0,3] prefix Topic x", "(3,6] prefix Topic x", "(6,7] prefix Topic x"}},
		"presence": {`SelectStoredRecord(R) :- Field(R,'Pin',_,_).`,
			[]string{"(0,3] presence Pin", "(3,6] presence Pin", "(6,7] presence Pin"}},
		"link": {`SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,'@a').`,
			[]string{"(0,3] target @a link Ref", "(3,6] target @a link Ref", "(6,7] target @a link Ref"}},
		"link data": {`SelectStoredRecord(R) :- RecordLink(R,'Ref',_,'reply',_).`,
			[]string{"(0,3] link data Ref reply", "(3,6] link data Ref reply", "(6,7] link data Ref reply"}},
		"every record": {`SelectStoredRecord(R) :- true.`,
			[]string{"(0,3]", "(3,6]", "(6,7]"}},
		"further comparisons narrow": {`SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder(R),'>=',AdmitOrder('@b')), Compare(AdmitOrder('@e'),'>',AdmitOrder(R)).`,
			[]string{"(1,3]", "(3,4]"}},
		"an anchor that is not held leaves the range": {`SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder(R),'>',AdmitOrder('@absent')).`,
			[]string{"(0,3]", "(3,6]", "(6,7]"}},
		"negation inside of the record": {`SelectStoredRecord(R) :- Field(R,'Topic',_,'x'), not RecordLink(R,_,_,_,_).`,
			[]string{"(0,3] exact Topic x", "(3,6] exact Topic x", "(6,7] exact Topic x"}},
		"cloned helper": {`m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- m(R,'x').`,
			[]string{"(0,3] exact Topic x", "(3,6] exact Topic x", "(6,7] exact Topic x"}},
		"cloned helper at the second argument": {`m(t,R) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- m('x',R).`,
			[]string{"(0,3] exact Topic x", "(3,6] exact Topic x", "(6,7] exact Topic x"}},
		"helper of a cloned helper": {`n(t,R) :- Field(R,'Topic',_,t). m(R) :- n('x',R). SelectStoredRecord(R) :- m(R).`,
			[]string{"(0,3] exact Topic x", "(3,6] exact Topic x", "(6,7] exact Topic x"}},
		"a link target is no root": {`SelectStoredRecord(T) :- RecordLink(R,'Ref',_,_,T), Field(R,'Pin',_,_).`,
			[]string{"(0,7] link Ref presence Pin", "(0,7] link Ref presence Pin", "(0,7] link Ref presence Pin"}},
		"a negated helper is derived once": {`linked(T) :- RecordLink(_,'Ref',_,_,T). SelectStoredRecord(R) :- Field(R,'Pin',_,_), not linked(R).`,
			[]string{"(0,7] link Ref", "(0,3] presence Pin", "(3,6] presence Pin", "(6,7] presence Pin"}},
		"a ranked helper is derived once": {`m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- TopK(m(R,t),PartitionBy(t),AdmitOrder(R),'desc','1').`,
			[]string{"(0,7] presence Topic"}},
		"a recursive helper at its other argument": {`up(R,T) :- RecordLink(R,'Ref',_,_,T). up(R,U) :- up(R,T), RecordLink(T,'Ref',_,_,U). SelectStoredRecord(R) :- up(R,'@a').`,
			[]string{"(0,3] link Ref", "(3,6] link Ref", "(6,7] link Ref"}},
		"all that is said of one record is one search": {`SelectStoredRecord(R) :- Field(R,'Topic',_,'x'), RecordLink(R,'Ref',_,_,_), Field(R,'Pin',_,_), Have(R).`,
			[]string{"(0,3] exact Topic x link Ref presence Pin", "(3,6] exact Topic x link Ref presence Pin", "(6,7] exact Topic x link Ref presence Pin"}},
		"link join from what is linked to": {`SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Field(T,'Half',_,'a').`,
			[]string{"(0,7] exact Half a", "(0,3] target @c link Ref", "(0,7] exact Half a", "(3,6] target @c link Ref", "(6,7] link Ref"}},
		"link join from the record": {`SelectStoredRecord(R) :- Field(R,'Topic',_,'y'), RecordLink(R,'Ref',_,_,T), Field(T,'Pin',_,_).`,
			[]string{"(0,3] exact Topic y link Ref", "(3,6] exact Topic y link Ref", "(6,7] exact Topic y link Ref"}},
		"counted in the record": {`SelectStoredRecord(R) :- Field(R,'Topic',_,'x'), Cardinality(Field(R,'Pin',_,_),'=','1').`,
			[]string{"(0,3] exact Topic x", "(3,6] exact Topic x", "(6,7] exact Topic x"}},
		"counted over records": {`SelectStoredRecord(R) :- Field(R,'Pin',_,_), Cardinality(RecordLink(_,'Ref',_,_,R),'>=','1').`,
			[]string{"(0,3] presence Pin", "(0,7] target @a link Ref", "(3,6] presence Pin", "(6,7] presence Pin", "(0,7] target @g link Ref"}},
		"a counted helper is derived once": {`tied(R,T) :- RecordLink(R,'Ref',_,_,T). SelectStoredRecord(R) :- Field(R,'Pin',_,_), Cardinality(tied(_,R),'>=','2').`,
			[]string{"(0,7] link Ref", "(0,3] presence Pin", "(3,6] presence Pin", "(6,7] presence Pin"}},
		"admission order of a link target": {`SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Compare(AdmitOrder(R),'>',AdmitOrder(T)).`,
			[]string{"(0,3] link Ref", "(3,6] link Ref", "(6,7] link Ref"}},
		"ranked facts are acquired once": {`SelectStoredRecord(R) :- TopK(Field(R,'Pin',_,v),PartitionBy(v),AdmitOrder(R),'asc','1').`,
			[]string{"(0,7] presence Pin"}},
		"the selected record is the second group": {`SelectStoredRecord(R) :- Field(S,'Pin',_,_), Field(S,'Topic',_,t), Field(R,'Topic',_,t), RecordLink(R,_,_,_,'@d').`,
			[]string{"(0,3] presence Topic target @d", "(3,6] presence Topic target @d", "(0,7] presence Pin exact Topic y", "(6,7] presence Topic target @d"}},
		"a helper without the record is whole": {`used(t) :- Field(S,'Pin',_,_), Field(S,'Topic',_,t). SelectStoredRecord(R) :- used(t), Field(R,'Topic',_,t).`,
			[]string{"(0,7] presence Pin presence Topic", "(0,3] presence Topic", "(3,6] presence Topic", "(6,7] presence Topic"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &logging{Backend: r.store(t)}
			if _, err := sweep.Run(context.Background(), l, r.prepare(t, c.policy), sweep.Options{WindowRecords: 3}); err != nil {
				t.Fatal(err)
			}
			got := l.searches()
			for i := range got {
				for name, hash := range r.hashes {
					got[i] = strings.ReplaceAll(got[i], hash, "@"+name)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("searches\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestAnchors: all of them are loaded by one operation before the first
// window, and a root of one window needs none.
func TestAnchors(t *testing.T) {
	r := makeRoot(t, "a", "b", "c", "d", "e", "f", "g")
	for window, want := range map[uint64][]store.RecordID{
		1: {1, 2, 3, 4, 5, 6}, 2: {2, 4, 6}, 3: {3, 6}, 6: {6}, 7: nil, 8: nil,
	} {
		l := &logging{Backend: r.store(t)}
		if _, err := sweep.Run(context.Background(), l, r.prepare(t, `SelectStoredRecord(R) :- true.`), sweep.Options{WindowRecords: window}); err != nil {
			t.Fatal(err)
		}
		var got []store.RecordID
		for i, op := range l.ops {
			if load, ok := op.(store.LoadRecordsByStoreID); ok {
				if i != 1 {
					t.Errorf("window %d: anchors are operation %d", window, i)
				}
				for _, ref := range load.Refs {
					got = append(got, ref.ID)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("window %d: anchors %v, want %v", window, got, want)
		}
	}
}

// TestBlocks asserts what is asked in batches: page sizes, distinct searches
// of a block and its fallback, resolving and loading.
func TestBlocks(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("r%d Key=k%d Twin=k%d", i, i, (i*5)%12))
	}
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("s%d Ref=@r%d", i, i))
	}
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("f%d", i))
	}
	r := makeRoot(t, lines...)
	run := func(t *testing.T, policy string, o sweep.Options) *logging {
		l := &logging{Backend: r.store(t)}
		if _, err := sweep.Run(context.Background(), l, r.prepare(t, policy), o); err != nil {
			t.Fatal(err)
		}
		return l
	}
	count := func(l *logging, is func(op store.Op) bool) (n int) {
		for _, op := range l.ops {
			if is(op) {
				n++
			}
		}
		return n
	}
	t.Run("pages", func(t *testing.T) {
		l := run(t, `SelectStoredRecord(R) :- true.`, sweep.Options{PageRows: 5})
		pages := count(l, func(op store.Op) bool {
			find, ok := op.(store.FindRecords)
			if ok && find.MaxRows != 5 {
				t.Errorf("a page of %d rows", find.MaxRows)
			}
			return ok
		})
		if pages != 17 {
			t.Errorf("%d pages of 84 records", pages)
		}
	})
	const join = `key(k) :- Field(_,'Key',_,k). SelectStoredRecord(R) :- key(k), Field(R,'Twin',_,k).`
	exact := func(op store.Op) bool {
		find, ok := op.(store.FindRecords)
		return ok && find.Query.Constraints[0].Shape == store.FieldExact
	}
	presence := func(op store.Op) bool {
		find, ok := op.(store.FindRecords)
		return ok && find.Query.Constraints[0] == store.Constraint{Shape: store.FieldPresence, Name: "Twin"}
	}
	t.Run("distinct searches", func(t *testing.T) {
		l := run(t, join, sweep.Options{})
		if n, m := count(l, exact), count(l, presence); n != 12 || m != 0 {
			t.Errorf("%d searches by value and %d by presence for 12 values", n, m)
		}
	})
	t.Run("too many are one", func(t *testing.T) {
		l := run(t, join, sweep.Options{DistinctQueries: 11})
		if n, m := count(l, exact), count(l, presence); n != 0 || m != 1 {
			t.Errorf("%d searches by value and %d by presence", n, m)
		}
	})
	t.Run("one for all blocks", func(t *testing.T) {
		l := run(t, join, sweep.Options{DistinctQueries: 2, BlockBindings: 4})
		if n, m := count(l, exact), count(l, presence); n != 0 || m != 1 {
			t.Errorf("%d searches by value and %d by presence", n, m)
		}
	})
	t.Run("one for each block when its matches are too many to keep", func(t *testing.T) {
		const counted = `key(k) :- Compare(k,'=','k1'). key(k) :- Compare(k,'=','k2'). key(k) :- Compare(k,'=','k3').
			SelectStoredRecord(R) :- key(k), Field(R,'Twin',_,k).`
		l := run(t, counted, sweep.Options{DistinctQueries: 1, BlockBindings: 2, MaxRelationRows: 3})
		if n, m := count(l, exact), count(l, presence); n != 1 || m != 2 {
			t.Errorf("%d searches by value and %d by presence, want 1 for the block of one and 2 for the other: it is tried and given up once", n, m)
		}
	})
	t.Run("a block resolves and loads once", func(t *testing.T) {
		l := run(t, `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Field(T,'Twin',_,_).`, sweep.Options{})
		resolves := count(l, func(op store.Op) bool { _, ok := op.(store.ResolveStoreRecordIDs); return ok })
		loads := count(l, func(op store.Op) bool { _, ok := op.(store.LoadRecordsByStoreID); return ok })
		if resolves != 1 || loads != 1 {
			t.Errorf("%d resolutions and %d loads of one block", resolves, loads)
		}
	})
	t.Run("admission order needs no loads", func(t *testing.T) {
		l := run(t, `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Compare(AdmitOrder(R),'>',AdmitOrder(T)).`, sweep.Options{BlockBindings: 5})
		resolves := count(l, func(op store.Op) bool { _, ok := op.(store.ResolveStoreRecordIDs); return ok })
		loads := count(l, func(op store.Op) bool { _, ok := op.(store.LoadRecordsByStoreID); return ok })
		if resolves != 3 || loads != 0 {
			t.Errorf("%d resolutions and %d loads for 12 links in blocks of 5", resolves, loads)
		}
	})
}
