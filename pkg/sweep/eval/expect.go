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

// searchedGroups returns the groups of a rule whose owner nothing else binds.
func (e *Evaluator) searchedGroups(rule *program.Rule) []*groupItem {
	var groups []*groupItem
	bound := newSlotSet(rule)
	for _, lit := range rule.Body {
		var atom program.Atom
		switch lit := lit.(type) {
		case program.Positive:
			atom = lit.Atom
		case program.TopK:
			atom = lit.Atom
		default:
			continue
		}
		if _, ranks := lit.(program.TopK); ranks || !e.isRecordAtom(atom) {
			bound.add(slotsOf(atom.Args...)...)
			if !e.isRecordAtom(atom) {
				continue
			}
		}
		bound.add(slotsOf(atom.Args[1:]...)...)
		at := slices.IndexFunc(groups, func(g *groupItem) bool { return sameTerm(g.owner, atom.Args[0]) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &groupItem{owner: atom.Args[0]})
		}
		groups[at].atoms = append(groups[at].atoms, atom)
	}
	return slices.DeleteFunc(groups, func(g *groupItem) bool {
		return g.owner.Form == program.Constant || g.owner.Form == program.Variable && bound[g.owner.Slot]
	})
}
