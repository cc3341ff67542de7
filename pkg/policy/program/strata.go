package program

import (
	"fmt"
	"strings"
)

// maxPathSteps bounds the searches for the cycles of all messages of a module.
// Beyond it a message names only the two ends.
const maxPathSteps = 1 << 20

// checkStrata refuses a predicate that reads itself through not, Cardinality
// or TopK. What is read so must be complete before.
func (l *lowering) checkStrata(order [][]PredicateID) {
	group := make([]int, len(l.predicates))
	for i, members := range order {
		for _, id := range members {
			group[id] = i
		}
	}
	budget := maxPathSteps
	for _, e := range l.graph.edges {
		if !e.strict || group[e.head] != group[e.body] {
			continue
		}
		back := l.graph.path(e.body, func(id PredicateID) bool { return id == e.head }, &budget)
		if back == nil && e.body != e.head {
			back = []edge{{head: e.body, body: e.head}}
		}
		l.fail(CodeUnstratified, e.position, l.chain(append([]edge{e}, back...)),
			"a predicate depends on itself through not, Cardinality or TopK",
			"break the cycle: what is negated, counted or ranked must be complete before")
	}
}

// checkAuthority refuses a selection that depends on who asks: absent authority
// is never read as false (seed 000). Every rule that reads it is reported, with
// the way from the selection.
func (l *lowering) checkAuthority(needed map[PredicateID]bool) {
	from, budget := l.byName[SelectFacet], maxPathSteps
	for _, e := range l.graph.edges {
		if !needed[e.head] || classify(l.predicates[e.body].Name) != authorityName {
			continue
		}
		way := l.graph.path(from, func(id PredicateID) bool { return id == e.head }, &budget)
		if way == nil && from != e.head {
			way = []edge{{head: from, body: e.head}}
		}
		l.fail(CodeAuthority, e.position, l.chain(append(way, e)),
			"the selection depends on who asks, and a retention run has nobody asking",
			"select by what the records say instead")
	}
}

// maxChain bounds the predicates that a message prints.
const maxChain = 12

// chain prints a way through the graph. The middle of a long one is left out.
func (l *lowering) chain(way []edge) string {
	names := []string{l.short(way[0].head)}
	for i, e := range way {
		if skipped := len(way) - maxChain; skipped > 0 && i >= maxChain/2 && i < maxChain/2+skipped {
			if i == maxChain/2 {
				names = append(names, fmt.Sprintf("(%d more)", skipped))
			}
			continue
		}
		names = append(names, l.short(e.body))
	}
	return strings.Join(names, " -> ")
}

// maxShortName bounds a name within a chain, in bytes.
const maxShortName = 40

func (l *lowering) short(id PredicateID) string {
	name := l.predicates[id].Name
	if len(name) > maxShortName {
		return name[:maxShortName] + "..."
	}
	return name
}

// checkUnused warns of helpers on which no selection depends. One whose name
// is nearly that of the selection is an error: taken for a helper it would
// silently retain nothing.
func (l *lowering) checkUnused(needed map[PredicateID]bool) {
	used := map[PredicateID]bool{}
	for _, name := range l.exchange {
		if id, known := l.byName[name]; known && !used[id] {
			for reached := range l.graph.reachable(id, func(e edge) bool { return !used[e.body] }) {
				used[reached] = true
			}
		}
	}
	read := map[PredicateID]bool{}
	for _, e := range l.graph.edges {
		read[e.body] = true
	}
	for _, r := range l.rules {
		id := r.Head.Predicate
		if needed[id] || used[id] {
			continue
		}
		used[id] = true // reported once
		if name := l.predicates[id].Name; !l.partial && !read[id] && distance(name, SelectFacet) <= maxFacetDistance {
			l.fail(CodeMisspeltFacet, r.Position, name, "this helper is read by no rule, and would select nothing",
				"did you mean "+SelectFacet+"? Otherwise choose a name that is less like it")
			continue
		}
		l.warn(CodeUnused, r.Position, l.predicates[id].Name, "no selection depends on this helper", "use it or remove it")
	}
}
