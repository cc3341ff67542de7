package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// choice is one step of a rule in its place, before it is built.
type choice struct {
	relation *relationItem
	group    *groupItem
	negated  *program.Negated
	counted  *program.Cardinality
	compare  *program.Compare
	prefix   *program.Prefix
	before   slotSet // bound by earlier steps
	live     slotSet // needed by later steps or the head
}

// relationItem is a conjunct over a derived relation, Param or the winners of
// a TopK.
type relationItem struct {
	rel   *relation
	args  []program.Term
	delta bool // only the tuples that the current round is about
}

// groupItem is all positive record atoms over one owner, with what is decided
// inside its records: negated atoms of the same owner, and comparisons.
type groupItem struct {
	owner    program.Term
	atoms    []program.Atom
	tests    []program.Atom
	counts   []program.Cardinality
	compares []program.Compare
	prefixes []program.Prefix
	counted  bool           // every match matters, whatever it binds
	lo, hi   store.Position // range of the owner, when it is searched for
}

func (g *groupItem) slots() []program.Slot {
	slots := slotsOf(g.owner)
	for _, a := range g.atoms {
		slots = append(slots, slotsOf(a.Args...)...)
	}
	return slots
}

// planner puts the literals of one rule into an order: filters as soon as they
// can be decided, then whatever is expected to leave the fewest bindings.
type planner struct {
	e         *Evaluator
	rule      *program.Rule
	bound     slotSet
	relations []*relationItem
	groups    []*groupItem
	compares  []program.Compare
	prefixes  []program.Prefix
	negated   []program.Negated
	counted   []program.Cardinality
	everBound slotSet // by any literal
	rows      float64 // expected bindings so far
	choices   []choice
}

// order returns the steps of a rule. winners has the result of each TopK by
// its place in the body; delta is the place of the recursive atom that takes
// only new tuples, and comes first, or negative.
func (e *Evaluator) order(rule *program.Rule, winners map[int]*relation, delta int) ([]choice, error) {
	return e.orderFrom(rule, winners, delta, newSlotSet(rule))
}

// orderFrom is order for bindings that have some slots bound to begin with.
func (e *Evaluator) orderFrom(rule *program.Rule, winners map[int]*relation, delta int, bound slotSet) ([]choice, error) {
	p := &planner{e: e, rule: rule, bound: bound, everBound: boundSlots(rule), rows: 1}
	p.split(winners, delta)
	if delta >= 0 {
		p.takeRelation(0)
	}
	for p.filter(); len(p.relations)+len(p.groups) > 0; p.filter() {
		p.takeBest()
	}
	if len(p.compares)+len(p.prefixes)+len(p.negated)+len(p.counted) > 0 {
		return nil, &store.Error{Kind: store.Integration, Doing: "plan", Where: rule.Position.String(), Found: "an unsafe rule: " + rule.Text}
	}
	p.liveness()
	return p.choices, nil
}

// split sorts the body by what its literals are. The delta becomes the first
// relation.
func (p *planner) split(winners map[int]*relation, delta int) {
	for i, lit := range p.rule.Body {
		switch lit := lit.(type) {
		case program.Positive:
			switch p.e.program.Predicates[lit.Atom.Predicate].Base {
			case program.NotBase, program.ParamBase:
				item := &relationItem{rel: p.e.relations[lit.Atom.Predicate], args: lit.Atom.Args, delta: i == delta}
				if item.delta {
					p.relations = slices.Insert(p.relations, 0, item)
				} else {
					p.relations = append(p.relations, item)
				}
			default:
				p.groups = groupByOwner(p.groups, lit.Atom)
			}
		case program.TopK:
			p.relations = append(p.relations, &relationItem{rel: winners[i], args: distinctVariables(lit.Atom)})
		case program.Negated:
			p.negated = append(p.negated, lit)
		case program.Cardinality:
			p.counted = append(p.counted, lit)
		case program.Compare:
			p.compares = append(p.compares, lit)
		case program.Prefix:
			p.prefixes = append(p.prefixes, lit)
		}
	}
	for _, g := range p.groups {
		g.lo, g.hi = p.e.rangeOf(p.rule, g.owner)
	}
}

// distinctVariables lists the named variables of an atom once each: the
// columns of what a TopK ranks.
func distinctVariables(a program.Atom) []program.Term {
	var terms []program.Term
	for _, t := range a.Args {
		if t.Form == program.Variable && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	return terms
}

// rangeOf narrows the range of an owner by its comparisons with records that
// are held. An anchor that is not held leaves the range; the comparison, which
// is decided all the same, rejects every record.
func (e *Evaluator) rangeOf(rule *program.Rule, owner program.Term) (lo, hi store.Position) {
	lo, hi = 0, e.boundary
	for _, lit := range rule.Body {
		c, ok := lit.(program.Compare)
		if !ok || c.Left.Form != program.AdmitOrder || owner.Form != program.Variable {
			continue
		}
		op, anchor := c.Operator, c.Right.Term
		if !sameTerm(c.Left.Term, owner) {
			op, anchor = mirrored(op), c.Left.Term
			if !sameTerm(c.Right.Term, owner) {
				continue
			}
		}
		if anchor.Form != program.Constant || !e.constants[anchor.Text].isRecord() {
			continue
		}
		at := store.Position(e.constants[anchor.Text].id())
		switch op {
		case program.Greater:
			lo = max(lo, at)
		case program.GreaterOrEqual:
			lo = max(lo, at-1)
		case program.Less:
			hi = min(hi, at-1)
		case program.LessOrEqual:
			hi = min(hi, at)
		case program.Equal:
			lo, hi = max(lo, at-1), min(hi, at)
		}
	}
	return lo, hi
}

// mirrored returns the operator with its sides exchanged.
func mirrored(op program.Operator) program.Operator {
	switch op {
	case program.Less:
		return program.Greater
	case program.LessOrEqual:
		return program.GreaterOrEqual
	case program.Greater:
		return program.Less
	case program.GreaterOrEqual:
		return program.LessOrEqual
	}
	return op
}

func (p *planner) choose(c choice) {
	c.before = p.bound.clone()
	p.choices = append(p.choices, c)
}

// filter takes every literal that can be decided, and every '=' that binds,
// until nothing more can.
func (p *planner) filter() {
	for again := true; again; {
		again = false
		p.compares = slices.DeleteFunc(p.compares, func(c program.Compare) bool {
			if !binds(c, p.bound) && !p.bound.hasAll(compareSlots(c)) {
				return false
			}
			p.choose(choice{compare: &c})
			again = again || !p.bound.hasAll(compareSlots(c))
			p.bound.add(compareSlots(c)...)
			return true
		})
	}
	p.prefixes = slices.DeleteFunc(p.prefixes, func(c program.Prefix) bool {
		if !p.bound.hasAll(slotsOf(c.Term)) {
			return false
		}
		p.choose(choice{prefix: &c})
		return true
	})
	p.negated = slices.DeleteFunc(p.negated, func(n program.Negated) bool {
		if !p.bound.hasAll(slotsOf(n.Atom.Args...)) {
			return false
		}
		p.choose(choice{negated: &n})
		return true
	})
	p.counted = slices.DeleteFunc(p.counted, func(c program.Cardinality) bool {
		if !p.isCountable(c) {
			return false
		}
		p.choose(choice{counted: &c})
		return true
	})
}

// isCountable reports whether everything is bound that a counted atom does not
// have for itself.
func (p *planner) isCountable(c program.Cardinality) bool {
	return !slices.ContainsFunc(slotsOf(c.Atom.Args...), func(s program.Slot) bool { return p.everBound[s] && !p.bound[s] })
}

// takeBest takes the conjunct with the least expected bindings. One that
// shares no variable with what is bound multiplies them, and comes last.
func (p *planner) takeBest() {
	best, at, group := math.Inf(1), 0, false
	for i, r := range p.relations {
		if cost := p.relationCost(r); cost < best {
			best, at, group = cost, i, false
		}
	}
	for i, g := range p.groups {
		if cost := p.groupCost(g); cost < best {
			best, at, group = cost, i, true
		}
	}
	p.rows = max(1, p.rows*min(best, float64(p.e.boundary)))
	if group {
		p.takeGroup(at)
	} else {
		p.takeRelation(at)
	}
}

func (p *planner) takeRelation(i int) {
	r := p.relations[i]
	p.relations = slices.Delete(p.relations, i, i+1)
	p.choose(choice{relation: r})
	p.bound.add(slotsOf(r.args...)...)
}

// takeGroup takes a group together with everything that its records decide.
func (p *planner) takeGroup(i int) {
	g := p.groups[i]
	p.groups = slices.Delete(p.groups, i, i+1)
	p.choose(choice{group: g})
	p.bound.add(g.slots()...)
	before := p.choices[len(p.choices)-1].before
	p.negated = slices.DeleteFunc(p.negated, func(n program.Negated) bool {
		if !p.e.isRecordAtom(n.Atom) || !sameTerm(n.Atom.Args[0], g.owner) || !p.bound.hasAll(slotsOf(n.Atom.Args...)) {
			return false
		}
		g.tests = append(g.tests, n.Atom)
		return true
	})
	p.counted = slices.DeleteFunc(p.counted, func(c program.Cardinality) bool {
		if !p.e.isRecordAtom(c.Atom) || !sameTerm(c.Atom.Args[0], g.owner) || !p.isCountable(c) {
			return false
		}
		g.counts = append(g.counts, c)
		return true
	})
	inside := func(slots []program.Slot) bool {
		// A comparison that the bytes of a record decide, before anything of
		// it is interned.
		return p.bound.hasAll(slots) && !before.hasAll(slots) && !slices.ContainsFunc(slotsOf(g.owner), func(s program.Slot) bool {
			return slices.Contains(slots, s)
		})
	}
	p.compares = slices.DeleteFunc(p.compares, func(c program.Compare) bool {
		if c.Left.Form == program.AdmitOrder || !inside(compareSlots(c)) {
			return false
		}
		g.compares = append(g.compares, c)
		return true
	})
	p.prefixes = slices.DeleteFunc(p.prefixes, func(c program.Prefix) bool {
		if !inside(slotsOf(c.Term)) {
			return false
		}
		g.prefixes = append(g.prefixes, c)
		return true
	})
}

// isRecordAtom reports whether an atom is over the facts of records.
func (e *Evaluator) isRecordAtom(a program.Atom) bool {
	base := e.program.Predicates[a.Predicate].Base
	return base != program.NotBase && base != program.ParamBase
}

// liveness finds, from the last step back, what the steps behind need.
func (p *planner) liveness() {
	live := newSlotSet(p.rule)
	live.add(slotsOf(p.rule.Head.Args...)...)
	for i := range p.choices {
		c := &p.choices[len(p.choices)-1-i]
		c.live = live.clone()
		switch {
		case c.relation != nil:
			live.add(slotsOf(c.relation.args...)...)
		case c.group != nil:
			live.add(c.group.slots()...)
			for _, a := range c.group.tests {
				live.add(slotsOf(a.Args...)...)
			}
			for _, count := range c.group.counts {
				live.add(slotsOf(count.Atom.Args...)...)
			}
			for _, cmp := range c.group.compares {
				live.add(compareSlots(cmp)...)
			}
			for _, pre := range c.group.prefixes {
				live.add(slotsOf(pre.Term)...)
			}
		case c.negated != nil:
			live.add(slotsOf(c.negated.Atom.Args...)...)
		case c.counted != nil:
			live.add(slotsOf(c.counted.Atom.Args...)...)
		case c.compare != nil:
			live.add(compareSlots(*c.compare)...)
		case c.prefix != nil:
			live.add(slotsOf(c.prefix.Term)...)
		default:
			panic(fmt.Sprintf("eval: empty choice %d of %s", i, p.rule.Text))
		}
	}
}
