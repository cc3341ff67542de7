package eval

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// stratum derives the relations of one stratum, unless they are there already.
func (e *Evaluator) stratum(s program.Stratum, selected func(store.RecordID)) error {
	if e.relations[s.Predicates[0]] != nil {
		return nil
	}
	for _, id := range s.Predicates {
		pred := e.program.Predicates[id]
		e.relations[id] = newRelation(e.program.NameOf(id), pred.Arity)
		e.growing[e.relations[id]] = s.Recursive
	}
	var recursive []*recursiveRule
	for i := range e.program.Rules {
		rule := &e.program.Rules[i]
		if !slices.Contains(s.Predicates, rule.Head.Predicate) {
			continue
		}
		r, err := e.firstRound(rule, s, selected)
		if err != nil {
			return err
		}
		if r != nil {
			recursive = append(recursive, r)
		}
	}
	if err := e.toFixedPoint(s, recursive); err != nil {
		return err
	}
	for _, id := range s.Predicates {
		e.rows[e.program.Predicates[id].Name] += uint64(e.relations[id].len())
	}
	if s.Predicates[0] == e.program.Select {
		e.rows[e.program.Predicates[e.program.Select].Name] = e.selected.count
	}
	clear(e.growing)
	return nil
}

// recursiveRule is a rule with one plan for each atom of its own stratum: the
// one in which that atom takes only new tuples.
type recursiveRule struct {
	plans []*plan
	reads []program.PredicateID
}

// firstRound derives what a rule gives from complete relations. A rule that
// reads its own stratum gives nothing before that has tuples; it is returned.
func (e *Evaluator) firstRound(rule *program.Rule, s program.Stratum, selected func(store.RecordID)) (*recursiveRule, error) {
	winners := map[int]*relation{}
	r := &recursiveRule{}
	e.enter(rule)
	for i, lit := range rule.Body {
		if topK, ok := lit.(program.TopK); ok {
			rel, err := e.winners(rule, topK)
			if err != nil {
				return nil, err
			}
			winners[i] = rel
		}
	}
	sink := e.sink(rule, selected)
	for i, lit := range rule.Body {
		atom, ok := lit.(program.Positive)
		if !ok || !slices.Contains(s.Predicates, atom.Atom.Predicate) {
			continue
		}
		p, err := e.plan(rule, winners, i, sink)
		if err != nil {
			return nil, err
		}
		r.plans, r.reads = append(r.plans, p), append(r.reads, atom.Atom.Predicate)
	}
	if len(r.plans) > 0 {
		return r, nil
	}
	return nil, e.derive(rule, winners, -1, sink)
}

// toFixedPoint runs the recursive rules until no relation grows. Each tuple is
// new to every rule once, and finds all that were derived before it.
func (e *Evaluator) toFixedPoint(s program.Stratum, rules []*recursiveRule) error {
	done := make([]int, len(s.Predicates))
	for again := len(rules) > 0; again; {
		again = false
		for i, id := range s.Predicates {
			from, to := done[i], e.relations[id].len()
			if from == to {
				continue
			}
			done[i], again = to, true
			if err := e.round(id, from, to, rules); err != nil {
				return err
			}
		}
	}
	return nil
}

// round runs the plans that take the tuples [from, to) of one relation as new.
func (e *Evaluator) round(id program.PredicateID, from, to int, rules []*recursiveRule) error {
	for _, r := range rules {
		for k, p := range r.plans {
			if r.reads[k] != id {
				continue
			}
			e.enter(p.rule)
			e.delta.from, e.delta.to = from, to
			if err := p.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// derive plans a rule and runs it once.
func (e *Evaluator) derive(rule *program.Rule, winners map[int]*relation, delta int, sink func([]value) error) error {
	p, err := e.plan(rule, winners, delta, sink)
	if err != nil {
		return err
	}
	return p.run()
}

func (e *Evaluator) plan(rule *program.Rule, winners map[int]*relation, delta int, sink func([]value) error) (*plan, error) {
	choices, err := e.order(rule, winners, delta)
	if err != nil {
		return nil, err
	}
	return e.build(rule, choices, sink)
}

// enter names the rule that work is now done for.
func (e *Evaluator) enter(rule *program.Rule) {
	e.meter.rule, e.meter.derives = rule, e.program.NameOf(rule.Head.Predicate)
	if rel := e.relations[rule.Head.Predicate]; e.moments != nil && rel != nil {
		e.moments.enter(rel)
	}
}

// sink returns what takes the derived bindings of a rule.
func (e *Evaluator) sink(rule *program.Rule, selected func(store.RecordID)) func(row []value) error {
	rel := e.relations[rule.Head.Predicate]
	head := make([]operand, len(rule.Head.Args))
	for i, t := range rule.Head.Args {
		head[i] = e.operandOf(t)
	}
	if rule.Head.Predicate == e.program.Select {
		return e.selection(head[0], rel.name, selected)
	}
	tuple := make([]value, len(head))
	return func(row []value) error {
		for i := range head {
			tuple[i] = head[i].of(row)
		}
		if rel.add(tuple) && uint64(rel.len()) > e.meter.rows {
			return e.meter.tooMany(rel.name, rel.len())
		}
		return nil
	}
}

// selection returns the sink of SelectStoredRecord: a bitmap over the window
// in place of a relation, since nothing reads it. What is selected is a record
// that is held, or nothing.
func (e *Evaluator) selection(head operand, name string, selected func(store.RecordID)) func(row []value) error {
	return func(row []value) error {
		v := head.of(row)
		if !v.isRecord() || !e.selected.add(v.id()) {
			return nil
		}
		if e.selected.count > e.meter.rows {
			return e.meter.tooMany(name, int(e.selected.count))
		}
		selected(v.id())
		return nil
	}
}

// idSet is a set of the ids in (lo, hi].
type idSet struct {
	lo, hi store.Position
	words  []uint64
	count  uint64
}

// reset empties the set and gives it another range.
func (s *idSet) reset(lo, hi store.Position) {
	words := int((hi - lo + 63) / 64)
	s.words = slices.Grow(s.words[:0], words)[:words]
	clear(s.words)
	s.lo, s.hi, s.count = lo, hi, 0
}

// add puts an id into the set and reports whether it is new. The rules of a
// window derive nothing outside of it.
func (s *idSet) add(id store.RecordID) bool {
	if store.Position(id) <= s.lo || store.Position(id) > s.hi {
		panic(fmt.Sprintf("eval: record #%d selected in the window (%d, %d]", id, s.lo, s.hi))
	}
	n := uint64(id) - uint64(s.lo) - 1
	word, bit := &s.words[n/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	s.count++
	return true
}
