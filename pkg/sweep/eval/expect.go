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
		rule := &p.Rules[i]
		for _, item := range e.searchedGroups(rule) {
			q := e.searchQuery(item, newSlotSet(rule))
			if len(q.constraints) > 0 {
				queries = append(queries, store.Query{Constraints: constants(q)})
			}
		}
	}
	return queries
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
