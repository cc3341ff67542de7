package explain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// chainRoot has n records, each of which links to the one before; the last is
// pinned.
func chainRoot(n int) *sweeptest.Root {
	r := &sweeptest.Root{}
	last := sweeptest.AbsentHash(0)
	for i := range n {
		headers := []record.Header{{Name: "Prev", Value: last}}
		if i == n-1 {
			headers = append([]record.Header{{Name: "Pin", Value: "yes"}}, headers...)
		}
		last = r.Add(sweeptest.MakePlex(fmt.Sprint(i), headers...))
	}
	return r
}

const reach = `
reach(R) :- Field(R,'Pin',_,_).
reach(T) :- reach(R), RecordLink(R,_,_,_,T), Have(T).
SelectStoredRecord(R) :- reach(R).
`

// TestCuts: what is left out is named, and what is left is true.
func TestCuts(t *testing.T) {
	wide := "h(R,'0') :- Have(R).\n"
	body := ""
	for i := range explain.MaxRules {
		wide += fmt.Sprintf("h(R,'%d') :- h(R,'%d').\n", i+1, i/100*100)
		body += fmt.Sprintf(", h(R,'%d')", i+1)
	}
	many := strings.Repeat("SelectStoredRecord(R) :- Field(R,'Pin',_,'no').\n", explain.MaxRules+1)
	for _, c := range []struct {
		name    string
		records int
		policy  string
		says    string
	}{
		{"a deep derivation", 100, reach, fmt.Sprintf("reach(R): matches: reach(#65) (deeper than %d rules)", explain.MaxDepth)},
		{"a wide derivation", 1, wide + "SelectStoredRecord(R) :- Have(R)" + body + ".\n", fmt.Sprintf("(more than %d rules)", explain.MaxRules)},
		{"what is derived above", 3, reach[:strings.Index(reach, "Select")] + "SelectStoredRecord(R) :- reach(R), reach(R).\n", "reach(R): matches: reach(#1) (its derivation is given above)"},
		{"many failures", 1, many, fmt.Sprintf("(further rules are left out: more than %d rules)", explain.MaxRules)},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := chainRoot(c.records)
			p := prepare(t, "p.lace", c.policy)
			rec := explained(t, load(t, root), []*program.Program{p}, sweep.Options{WorkPerRecord: 1 << 30}, 1)[0]
			model, err := sweeptest.Derive(p, root.Records)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(model, p, rec.Hash, rec.Modules[0], newSeen()); err != nil {
				t.Error(err)
			}
			var text bytes.Buffer
			if err := explain.WriteText(&text, []explain.Record{rec}); err != nil || !strings.Contains(text.String(), c.says) {
				t.Errorf("%v; not in the text: %s\n%.3000s", err, c.says, &text)
			}
		})
	}
}

// TestLongValues: the text shows the beginning, the structure all of it.
func TestLongValues(t *testing.T) {
	root := &sweeptest.Root{}
	long := strings.Repeat("é", 450)
	root.Add(sweeptest.MakePlex("a", record.Header{Name: "Note", Value: long}))
	rec := explained(t, load(t, root), []*program.Program{prepare(t, "p.lace", "SelectStoredRecord(R) :- Field(R,'Note',_,n).")}, sweep.Options{}, 1)[0]
	if got := rec.Modules[0].Derivation.Binding[1].Value; got != long {
		t.Errorf("%d bytes, want %d", len(got), len(long))
	}
	var text bytes.Buffer
	if err := explain.WriteText(&text, []explain.Record{rec}); err != nil || text.Len() > 1500 || !strings.Contains(text.String(), "bytes)") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestErrors: explanations have the limits of the sweep, stop on request, and
// never contradict it.
func TestErrors(t *testing.T) {
	root := chainRoot(20)
	p := []*program.Program{prepare(t, "p.lace", reach)}
	b := load(t, root)
	sweepOf := func() *sweep.Result {
		r, err := sweep.RunPrograms(context.Background(), b, p, sweep.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ids := []store.RecordID{3}
	r := sweepOf()
	r.Report.Options.WorkPerRecord = 1
	var limit *eval.LimitError
	if _, err := r.ExplainPrograms(context.Background(), b, p, ids); !errors.As(err, &limit) || limit.Limit != eval.Work || limit.Allowed != 20 {
		t.Errorf("work: %v", err)
	}
	r = sweepOf()
	r.Report.Options.MaxRelationRows = 5
	if _, err := r.ExplainPrograms(context.Background(), b, p, ids); !errors.As(err, &limit) || limit.Limit != eval.RelationRows {
		t.Errorf("rows: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := sweepOf().ExplainPrograms(stopped, b, p, ids); !errors.Is(err, store.Interrupted) {
		t.Errorf("stopped: %v", err)
	}
	for _, id := range []store.RecordID{0, 21} {
		if _, err := sweepOf().ExplainPrograms(context.Background(), b, p, []store.RecordID{id}); !errors.Is(err, store.Integration) {
			t.Errorf("record #%d: %v", id, err)
		}
	}
	other := []*program.Program{prepare(t, "p.lace", "SelectStoredRecord(R) :- Field(R,'Pin',_,_).")}
	if _, err := sweepOf().ExplainPrograms(context.Background(), b, other, ids); !errors.Is(err, store.Integration) {
		t.Errorf("another decision: %v", err)
	}
	if records, err := sweepOf().ExplainPrograms(context.Background(), b, p, nil); err != nil || len(records) != 0 {
		t.Errorf("no record: %v, %v", records, err)
	}
}

// TestSharedMatches: matches that are kept for many bindings are not mistaken
// for those of a longer body, which was asked about before.
func TestSharedMatches(t *testing.T) {
	p := prepare(t, "p.lace", `
h('k') :- Field(S,'Topic',_,_), RecordLink(Q,_,_,_,S), Cardinality(Field(Q,'Topic',_,_),'>=','9'), Field(Q,'N',_,_), Field(Q,'Pin',_,_).
SelectStoredRecord(R) :- Have(R), h('k').
`)
	for _, distinct := range []int{1, 64} {
		o := sweep.Options{DistinctQueries: distinct}
		rec := explained(t, load(t, exampleRoot()), []*program.Program{p}, o, 1)[0]
		if f := rec.Modules[0].Failures[0].Failed.Failures[0].Failed; f.Number != 3 || *f.Counted != 1 {
			t.Errorf("with %d searches: %s: %s", distinct, f.Literal, f.Says)
		}
	}
}
