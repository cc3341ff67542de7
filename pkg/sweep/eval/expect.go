package eval

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// Queries returns the searches that evaluating a module is likely to repeat,
// page by page and window by window, for stores that prepare themselves. They
// are a guess, and what is asked never depends on it.
func Queries(p *program.Program) []store.Query {
	e := &Evaluator{program: p}
	var queries []store.Query
	for i := range p.Rules {
		rule := fixedRule(p.Rules[i])
		for _, item := range e.searchedGroups(rule) {
			q := e.searchQuery(item, newSlotSet(rule))
			if len(q.constraints) > 0 {
				queries = append(queries, store.Query{Constraints: constants(q)})
			}
		}
	}
	return queries
}

// fixedRule returns a rule with constants in its positive atoms in place of the
// variables that are equal to them.
func fixedRule(rule program.Rule) *program.Rule {
	values := map[program.Slot]program.Term{}
	for _, lit := range rule.Body {
		c, ok := lit.(program.Compare)
		if ok && c.Operator == program.Equal && c.Left.Form == program.PlainText && c.Left.Term.Form == program.Variable && c.Right.Term.Form == program.Constant {
			values[c.Left.Term.Slot] = c.Right.Term
		}
	}
	if len(values) == 0 {
		return &rule
	}
	rule.Body = slices.Clone(rule.Body)
	for i, lit := range rule.Body {
		if call, ok := lit.(program.Positive); ok {
			call.Atom.Args = slices.Clone(call.Atom.Args)
			for k, t := range call.Atom.Args {
				if value, fixed := values[t.Slot]; fixed && t.Form == program.Variable {
					call.Atom.Args[k] = value
				}
			}
			rule.Body[i] = call
		}
	}
	return &rule
}

// searchedGroups returns the groups of a rule whose owner nothing else binds,
// and the candidates of a TopK over facts, which stand alone.
func (e *Evaluator) searchedGroups(rule *program.Rule) []*groupItem {
	var joined, ranked []*groupItem
	bound := newSlotSet(rule)
	for _, lit := range rule.Body {
		switch lit := lit.(type) {
		case program.TopK:
			bound.add(slotsOf(lit.Atom.Args...)...)
			if e.isRecordAtom(lit.Atom) {
				ranked = append(ranked, &groupItem{owner: lit.Atom.Args[0], atoms: []program.Atom{lit.Atom}})
			}
		case program.Positive:
			if !e.isRecordAtom(lit.Atom) {
				bound.add(slotsOf(lit.Atom.Args...)...)
				continue
			}
			bound.add(slotsOf(lit.Atom.Args[1:]...)...)
			joined = groupByOwner(joined, lit.Atom)
		}
	}
	joined = slices.DeleteFunc(joined, func(g *groupItem) bool {
		return g.owner.Form == program.Constant || g.owner.Form == program.Variable && bound[g.owner.Slot]
	})
	return append(joined, ranked...)
}

func groupByOwner(groups []*groupItem, a program.Atom) []*groupItem {
	for _, g := range groups {
		if sameTerm(g.owner, a.Args[0]) {
			g.atoms = append(g.atoms, a)
			return groups
		}
	}
	return append(groups, &groupItem{owner: a.Args[0], atoms: []program.Atom{a}})
}
