package explain_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// TestCheckerIsNotBlind makes explanations wrong in one place at a time; the
// checker of the random test must say so.
func TestCheckerIsNotBlind(t *testing.T) {
	p := prepare(t, "p.lace", `
topic(R,t)            :- Field(R,'Topic',_,t).
next(T,R)             :- RecordLink(R,'Prev',_,_,T).
next(T,R)             :- next(T,S), next(S,R).
SelectStoredRecord(R) :- next(R,_), topic(R,t), Prefix(t,'lob'), TopK(topic(R,t), PartitionBy(t), AdmitOrder(R), 'asc', '2'), not Field(R,'Pin',_,_).
`)
	root := exampleRoot()
	b := load(t, root)
	kept, pinned, last := store.RecordID(2), store.RecordID(3), store.RecordID(4)
	for _, c := range []struct {
		name   string
		id     store.RecordID
		tamper func(m *explain.Module)
	}{
		{"the outcome", kept, func(m *explain.Module) { m.Selected = false }},
		{"a value", kept, func(m *explain.Module) { m.Derivation.Binding[0].Value = "x" }},
		{"a number", kept, func(m *explain.Module) { m.Derivation.Premises[0].Number = 2 }},
		{"a premise that is missing", kept, func(m *explain.Module) { m.Derivation.Premises = m.Derivation.Premises[1:] }},
		{"a fact", kept, func(m *explain.Module) { m.Derivation.Premises[1].Derivation.Premises[0].Atom.Terms[3].Value = "news" }},
		{"a rank", kept, func(m *explain.Module) { m.Derivation.Premises[3].Rank.Place = 1 }},
		{"the size of a partition", kept, func(m *explain.Module) { m.Derivation.Premises[3].Rank.Of++ }},
		{"no derivation", kept, func(m *explain.Module) { m.Derivation.Premises[0].Derivation = nil }},
		{"above", kept, func(m *explain.Module) {
			m.Derivation.Premises[0].Derivation, m.Derivation.Premises[0].Cut = nil, "its derivation is given above"
		}},
		{"a cycle", kept, func(m *explain.Module) {
			next := m.Derivation.Premises[0].Derivation
			next.Premises[0].Atom, next.Premises[0].Kind = m.Derivation.Premises[0].Atom, explain.Derived
		}},
		{"another rule", kept, func(m *explain.Module) { m.Derivation.Rule.Line-- }},
		{"the literal", pinned, func(m *explain.Module) { m.Failures[0].Failed.Number = 2 }},
		{"what is satisfied", last, func(m *explain.Module) { m.Failures[0].Satisfied = []int{2} }},
		{"the number of bindings", pinned, func(m *explain.Module) { m.Failures[0].Bindings++ }},
		{"a rule that is missing", last, func(m *explain.Module) {
			m.Failures[0].Failed.Failures = m.Failures[0].Failed.Failures[1:]
		}},
		{"a goal", last, func(m *explain.Module) { m.Failures[0].Failed.Failures[0].Goal.Terms[0].Value = root.Hash(1) }},
		{"a binding", pinned, func(m *explain.Module) { m.Failures[0].Binding[1].Value = "news" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			module := explained(t, b, []*program.Program{p}, sweep.Options{}, c.id)[0].Modules[0]
			model, err := sweeptest.Derive(p, root.Records)
			if err != nil {
				t.Fatal(err)
			}
			hash := root.Hash(int(c.id))
			if err := check(model, p, hash, module, newSeen()); err != nil {
				t.Fatal(err)
			}
			c.tamper(&module)
			if err := check(model, p, hash, module, newSeen()); err == nil {
				t.Error("the checker sees nothing wrong")
			} else {
				t.Log(err)
			}
		})
	}
}
