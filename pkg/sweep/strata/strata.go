// Package strata orders the derived predicates of a rewritten module for
// evaluation. It must not know how modules are rewritten or evaluated.
package strata

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// Of returns the derived predicates that root depends on, grouped by mutual
// recursion, each group behind what it reads (Tarjan's algorithm). Cloning
// adds no dependency that the originals do not have, so strata of a stratified
// program stay stratified.
func Of(predicates []program.Predicate, rules []program.Rule, root program.PredicateID) []program.Stratum {
	s := &components{reads: make([][]program.PredicateID, len(predicates)), seen: make([]mark, len(predicates))}
	for _, rule := range rules {
		head := rule.Head.Predicate
		for _, lit := range rule.Body {
			if id := Reads(lit); id != program.NoPredicate && predicates[id].Base == program.NotBase {
				s.reads[head] = append(s.reads[head], id)
			}
		}
	}
	s.visit(root)
	return s.strata
}

// Reads returns the predicate that a literal reads, or NoPredicate.
func Reads(lit program.Literal) program.PredicateID {
	switch lit := lit.(type) {
	case program.Positive:
		return lit.Atom.Predicate
	case program.Negated:
		return lit.Atom.Predicate
	case program.Cardinality:
		return lit.Atom.Predicate
	case program.TopK:
		return lit.Atom.Predicate
	}
	return program.NoPredicate
}

// Rules returns those of the rules, in their order, whose heads are in strata.
func Rules(rules []program.Rule, strata []program.Stratum) []program.Rule {
	derived := map[program.PredicateID]bool{}
	for _, s := range strata {
		for _, id := range s.Predicates {
			derived[id] = true
		}
	}
	var kept []program.Rule
	for _, rule := range rules {
		if derived[rule.Head.Predicate] {
			kept = append(kept, rule)
		}
	}
	return kept
}

type components struct {
	reads  [][]program.PredicateID
	seen   []mark
	count  int
	stack  []program.PredicateID
	strata []program.Stratum
}

// mark is the state of one predicate: order is one-based and zero before the
// first visit.
type mark struct {
	order, low int
	onStack    bool
}

func (c *components) visit(id program.PredicateID) {
	c.count++
	c.seen[id] = mark{order: c.count, low: c.count, onStack: true}
	c.stack = append(c.stack, id)
	for _, next := range c.reads[id] {
		if c.seen[next].order == 0 {
			c.visit(next)
			c.seen[id].low = min(c.seen[id].low, c.seen[next].low)
		} else if c.seen[next].onStack {
			c.seen[id].low = min(c.seen[id].low, c.seen[next].order)
		}
	}
	if c.seen[id].low != c.seen[id].order {
		return
	}
	at := slices.Index(c.stack, id)
	group := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, member := range group {
		c.seen[member].onStack = false
	}
	slices.Sort(group)
	c.strata = append(c.strata, program.Stratum{
		Predicates: group, Recursive: len(group) > 1 || slices.Contains(c.reads[id], id),
	})
}
