package window

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// stratify returns the derived predicates that root depends on, grouped by
// mutual recursion, each group behind what it reads (Tarjan's algorithm).
// Cloning adds no dependency that the originals do not have, so strata of a
// stratified program stay stratified.
func stratify(predicates []program.Predicate, rules []program.Rule, root program.PredicateID) []program.Stratum {
	s := &components{reads: make([][]program.PredicateID, len(predicates)), seen: make([]mark, len(predicates))}
	for _, rule := range rules {
		head := rule.Head.Predicate
		for _, lit := range rule.Body {
			if id, ok := reads(lit); ok && predicates[id].Base == program.NotBase {
				s.reads[head] = append(s.reads[head], id)
			}
		}
	}
	s.visit(root)
	return s.strata
}

// reads returns the predicate that a literal reads.
func reads(lit program.Literal) (program.PredicateID, bool) {
	switch lit := lit.(type) {
	case program.Positive:
		return lit.Atom.Predicate, true
	case program.Negated:
		return lit.Atom.Predicate, true
	case program.Cardinality:
		return lit.Atom.Predicate, true
	case program.TopK:
		return lit.Atom.Predicate, true
	}
	return program.NoPredicate, false
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
