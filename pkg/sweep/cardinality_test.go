package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
)

// TestCardinality pins what is counted: the distinct bindings of what only the
// counted atom has, for each binding of the rest.
func TestCardinality(t *testing.T) {
	r := makeRoot(t,
		"a Topic=x Tag=p Tag=q Tag=p",
		"b Topic=x Tag=p Ref=@a",
		"c Topic=y Ref=@a Ref=@b Twin=u Twin=u",
		"d Topic=y Ref=re+@a Ref=@absent Topic=1",
		"e Topic=z Ref=@absent",
		"f",
		"seal: s c",
	)
	const all = "a b c d e f s"
	for name, c := range map[string]struct{ want, policy string }{
		// Inside of the record that a positive atom is about.
		"every anonymous variable is a column":  {"a", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'=','3').`},
		"a constant is none":                    {"a", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,'p'),'>=','2').`},
		"a bound variable is none":              {"b", `SelectStoredRecord(R) :- Field(R,'Tag',_,v), Cardinality(Field(R,'Tag',_,v),'=','1'), not Field(R,'Tag','2',_).`},
		"no match counts 0":                     {"c d e f s", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'=','0').`},
		"no match is less than 1":               {"c d e f s", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'<','1').`},
		"at least 0 always holds":               {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'>=','0').`},
		"less than 0 never holds":               {"", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'<','0').`},
		"at most":                               {"b c d e f s", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'<=','2').`},
		"unequal":                               {"a c d e f s", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'!=','1').`},
		"a local variable is a column":          {"a", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',i,v),'>','2').`},
		"a repeated local variable joins":       {"d", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,_,i,i),'>=','1').`},
		"links, without their targets":          {"c s", `SelectStoredRecord(R) :- Have(R), Cardinality(RecordLink(R,'Ref',_,'',T),'=','2').`},
		"containment":                           {"s", `SelectStoredRecord(R) :- Have(R), Cardinality(ContainsRecord(R,_),'=','2').`},
		"the record itself is held once":        {all, `SelectStoredRecord(R) :- Field(R,':Type',_,_), Cardinality(Have(R),'=','1').`},
		"two counts in one record":              {"a", `SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'Tag',_,_),'>','1'), Cardinality(Field(R,'Topic',_,_),'=','1').`},
		"a number of any size is not reached":   {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Have(R),'<','18446744073709551617'), Cardinality(Have(R),'!=','9223372036854775808').`},
		"a number of any size is not exceeded":  {"", `SelectStoredRecord(R) :- Have(R), Cardinality(Have(_),'>=','340282366920938463463374607431768211456').`},
		"the largest that is counted":           {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Have(_),'<','9223372036854775807').`},
		"an unheld record has no facts":         {"d e", `SelectStoredRecord(R) :- RecordLink(R,_,_,_,T), Cardinality(Have(T),'=','0').`},
		"of an owner bound by a link":           {"b c d s", `SelectStoredRecord(R) :- RecordLink(R,_,_,_,T), Cardinality(Field(T,'Tag',_,_),'>','1').`},
		"of a constant owner":                   {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Field('@a','Tag',_,_),'=','3').`},
		"of a constant owner that is not held":  {"", `SelectStoredRecord(R) :- Have(R), Cardinality(Field('@absent','Tag',_,_),'>','0').`},
		"of a constant owner for each binding":  {"a b", `SelectStoredRecord(R) :- Field(R,'Topic',_,t), Cardinality(Field('@a','Topic',_,t),'=','1').`},
		"over records, by a target":             {"a", `SelectStoredRecord(R) :- Have(R), Cardinality(RecordLink(_,'Ref',_,_,R),'>=','3').`},
		"over records, by a target, none":       {"c d e f s", `SelectStoredRecord(R) :- Have(R), Cardinality(RecordLink(_,'Ref',_,_,R),'=','0').`},
		"over records, by a value":              {"c d s", `SelectStoredRecord(R) :- Field(R,'Topic',_,t), Cardinality(Field(_,'Topic',_,t),'>','2').`},
		"over records, by a name":               {"c s", `SelectStoredRecord(R) :- Field(R,n,_,_), Prefix(n,'Tw'), Cardinality(Field(_,n,_,_),'=','4').`},
		"over records, by a value of any field": {"c s", `SelectStoredRecord(R) :- Field(R,'Twin',_,v), Cardinality(Field(_,_,_,v),'=','4').`},
		"over records, by an index":             {"a", `SelectStoredRecord(R) :- Field(R,'Tag',i,_), Cardinality(Field(_,_,i,_),'=','1').`},
		"over records, of a local owner":        {"", `SelectStoredRecord(R) :- Have(R), Cardinality(RecordLink(S,_,_,_,S),'>','0').`},
		"over all records":                      {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Have(_),'=','7').`},
		"over all records, local":               {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Have(S),'>=','7'), Cardinality(Have(T),'<=','7').`},
		"parameters":                            {all, `SelectStoredRecord(R) :- Have(R), Cardinality(Param('cutoff',_),'=','1').`},

		// Derived relations.
		"tuples of a helper": {"a b d", `topic(t,R) :- Field(R,'Topic',_,t), not Field(R,'Twin',_,_).
			SelectStoredRecord(R) :- topic(t,R), Cardinality(topic(t,_),'=','2'). SelectStoredRecord(R) :- topic(t,R), Cardinality(topic(_,R),'>','1').`},
		"all tuples of a helper": {all, `topic(t,R) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- Have(R), Cardinality(topic(_,_),'=','7').`},
		"a helper is a set":      {all, `topic(t) :- Field(_,'Topic',_,t). SelectStoredRecord(R) :- Have(R), Cardinality(topic(t),'=','4').`},
		"a helper that is full":  {"a b", `topic(t) :- Field('@a','Topic',_,t). SelectStoredRecord(R) :- Field(R,'Topic',_,t), Cardinality(topic(t),'=','1').`},
		"repeated locals of a helper": {all, `pair(t,u) :- Field(R,'Topic',_,t), Field(R,'Topic',_,u).
			SelectStoredRecord(R) :- Have(R), Cardinality(pair(x,x),'=','4'), Cardinality(pair(y,z),'=','6').`},
		"over the result of recursion": {"c d s", `up(R,T) :- RecordLink(R,_,_,_,T). up(R,U) :- up(R,T), RecordLink(T,_,_,_,U).
			SelectStoredRecord(R) :- Have(R), Cardinality(up(R,_),'>=','2').`},
		"in a recursive rule": {"a b", `r(R) :- Field(R,'Twin',_,_). r(T) :- r(R), RecordLink(R,_,_,_,T), Cardinality(Field(T,'Tag',_,_),'>','0').
			SelectStoredRecord(R) :- r(R), Cardinality(Field(R,'Twin',_,_),'=','0').`},
		"in a helper that is cloned": {"c s", `m(R,t) :- Field(R,'Topic',_,t), Cardinality(RecordLink(R,_,_,_,_),'=','2'). SelectStoredRecord(R) :- m(R,'y'), Cardinality(m(_,'y'),'>','1'), not m(R,'1').`},
		"of winners": {"c d e s", `topic(t,R) :- Field(R,'Topic',_,t).
			SelectStoredRecord(R) :- TopK(topic(t,R),PartitionBy(),AdmitOrder(R),'desc','5'), Cardinality(topic(t,_),'>','0'). SelectStoredRecord('@c').`},
		"bound by an equation": {"a b", `SelectStoredRecord(R) :- Have(R), Compare(t,'=',u), Compare(u,'=','x'), Cardinality(Field(R,'Topic',_,t),'=','1').`},
	} {
		t.Run(name, func(t *testing.T) { r.keeps(t, c.want, c.policy) })
	}
}

// asked tallies what a store was asked.
func (l *logging) asked() (finds, loads, resolves int) {
	for _, op := range l.ops {
		switch op.(type) {
		case store.FindRecords:
			finds++
		case store.LoadRecordsByStoreID:
			loads++
		case store.ResolveStoreRecordIDs:
			resolves++
		}
	}
	return finds, loads, resolves
}

// times counts the searches, by their first pages.
func (l *logging) times(search string) (n int) {
	for _, s := range l.searches() {
		if s == search {
			n++
		}
	}
	return n
}

// TestCountedAtomsInBatches asserts how counted atoms are acquired: in the
// record that another atom reads, by one load of a block, by the distinct
// searches of a block, or by one search for all keys and windows.
func TestCountedAtomsInBatches(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("r%d Key=k%d Twin=k%d", i, i%6, i%4))
	}
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("s%d Ref=@r%d", i, i))
	}
	r := makeRoot(t, lines...)
	run := func(t *testing.T, policy string, o sweep.Options) (*logging, string) {
		l := &logging{Backend: r.store(t)}
		result, err := sweep.Run(context.Background(), l, r.prepare(t, policy), o)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for id := range result.Kept.IDs() {
			names = append(names, r.names[id-1])
		}
		return l, strings.Join(names, " ")
	}
	const rs = "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11"
	ss := strings.ReplaceAll(rs, "r", "s")
	const byLink = `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Cardinality(Field(T,'Twin',_,_),'=','1').`
	const byValue = `SelectStoredRecord(R) :- Field(R,'Key',_,k), Cardinality(Field(_,'Twin',_,k),'>=','3').`
	const byTarget = `SelectStoredRecord(R) :- Field(R,'Key',_,_), Cardinality(RecordLink(_,'Ref',_,_,R),'=','1').`
	const byKey = "r0 r1 r2 r3 r6 r7 r8 r9"
	for name, c := range map[string]struct {
		policy string
		o      sweep.Options
		kept   string
		loads  int            // anchors included
		times  map[string]int // of searches
	}{
		"inside of the record": {`SelectStoredRecord(R) :- Field(R,'Key',_,_), Cardinality(Field(R,'Twin',_,_),'=','1').`,
			sweep.Options{}, rs, 0, map[string]int{"(0,24] presence Key": 1, "(0,24] presence Twin": 0}},
		"a block is loaded once":    {byLink, sweep.Options{}, ss, 1, map[string]int{"(0,24] link Ref": 1}},
		"each block is loaded once": {byLink, sweep.Options{BlockBindings: 5}, ss, 3, map[string]int{"(0,24] link Ref": 1}},
		"distinct searches of a block": {byValue, sweep.Options{}, byKey, 0,
			map[string]int{"(0,24] exact Twin k0": 1, "(0,24] exact Twin k5": 1, "(0,24] presence Twin": 0}},
		"a key that was counted is not again": {byValue, sweep.Options{BlockBindings: 1}, byKey, 0,
			map[string]int{"(0,24] exact Twin k0": 1, "(0,24] exact Twin k5": 1, "(0,24] presence Twin": 0}},
		"too many searches are one": {byValue, sweep.Options{DistinctQueries: 5}, byKey, 0,
			map[string]int{"(0,24] exact Twin k0": 0, "(0,24] presence Twin": 1}},
		"one search for all blocks and windows": {byValue, sweep.Options{DistinctQueries: 1, BlockBindings: 2, WindowRecords: 5}, byKey, 1,
			map[string]int{"(0,24] presence Twin": 1}},
		"one search for all targets": {byTarget, sweep.Options{DistinctQueries: 2, BlockBindings: 3, WindowRecords: 7}, rs, 1,
			map[string]int{"(0,24] link Ref": 1}},
		"a search for each block when the keys are too many to keep": {byValue, sweep.Options{DistinctQueries: 1, BlockBindings: 2, MaxRelationRows: 3, WindowRecords: 3}, byKey, 1,
			map[string]int{"(0,24] presence Twin": 5}},
		"a constant count is one for all windows": {`SelectStoredRecord(R) :- Field(R,'Key',_,_), Cardinality(RecordLink(_,'Ref',_,_,_),'=','12').`,
			sweep.Options{BlockBindings: 2, WindowRecords: 4}, rs, 1, map[string]int{"(0,24] link Ref": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l, kept := run(t, c.policy, c.o)
			if kept != c.kept {
				t.Errorf("kept %s, want %s", kept, c.kept)
			}
			if _, loads, _ := l.asked(); loads != c.loads {
				t.Errorf("%d loads, want %d", loads, c.loads)
			}
			for search, want := range c.times {
				if got := l.times(search); got != want {
					t.Errorf("%s: %d times, want %d, among\n%s", search, got, want, strings.Join(l.searches(), "\n"))
				}
			}
		})
	}
	t.Run("counting ends with the verdict", func(t *testing.T) {
		policy := `SelectStoredRecord(R) :- Field(R,'Key',_,'k1'), Cardinality(Have(_),'>=','%d').`
		few, _ := run(t, fmt.Sprintf(policy, 3), sweep.Options{PageRows: 2})
		many, _ := run(t, fmt.Sprintf(policy, 23), sweep.Options{PageRows: 2})
		fewPages, _, _ := few.asked()
		manyPages, _, _ := many.asked()
		if manyPages-fewPages != 10 {
			t.Errorf("%d pages for 3 records and %d for 23", fewPages, manyPages)
		}
	})
}

// TestCountingIsWork: matches that are counted are paid for, those that no
// longer matter are not.
func TestCountingIsWork(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("r%d Topic=x", i))
	}
	r := makeRoot(t, lines...)
	work := func(policy string, n int) uint64 {
		result, err := sweep.Run(context.Background(), r.store(t), r.prepare(t, fmt.Sprintf(policy, n)), sweep.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return result.Report.Modules[0].Windows[0].Work
	}
	for policy, each := range map[string]uint64{
		// A tuple costs one, a fact that is searched one more for its record.
		`topic(t,R) :- Field(R,'Topic',_,t). SelectStoredRecord('@r0') :- Compare(t,'=','x'), Cardinality(topic(t,_),'>=','%d').`: 1,
		`SelectStoredRecord('@r0') :- Compare(t,'=','x'), Cardinality(Field(_,'Topic',_,t),'>=','%d').`:                           2,
	} {
		if few, many := work(policy, 2), work(policy, 30); many != few+28*each {
			t.Errorf("work %d and %d of %s", few, many, policy)
		}
	}
	_, err := sweep.Run(context.Background(), r.store(t), r.prepare(t, `pair(R,S) :- Have(R), Field(S,'Topic',_,_).
		SelectStoredRecord(R) :- Have(R), Cardinality(pair(_,S),'>','1000').`), sweep.Options{WorkPerRecord: 30})
	if !errors.Is(err, store.LimitExceeded) {
		t.Errorf("a count beyond the budget: %v", err)
	}
}
