package eval

import (
	"fmt"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// step turns a block of bindings into bindings with more slots bound, or into
// fewer. It may change the block it is given, and may hand on any number of
// bindings.
type step interface {
	apply(in *block, out *stage) error
}

// plan is one rule as a pipeline: stage i holds the bindings that step i has
// yet to see. Stages hand on full blocks, so that what a step asks of the
// store is asked for many bindings at once.
type plan struct {
	e      *Evaluator
	rule   *program.Rule
	steps  []step
	stages []*stage
	sink   func(row []value) error
}

func (e *Evaluator) newPlan(rule *program.Rule, steps []step, sink func(row []value) error) *plan {
	p := &plan{e: e, rule: rule, steps: steps, sink: sink}
	for i := range len(steps) + 1 {
		p.stages = append(p.stages, &stage{plan: p, next: i, bindings: block{width: len(rule.Slots)}})
	}
	return p
}

// run derives everything that the plan can.
func (p *plan) run() error { return p.runFrom(nil) }

// runFrom derives everything that extends one binding.
func (p *plan) runFrom(row []value) error {
	if _, err := p.stages[0].add(row); err != nil {
		return err
	}
	for _, s := range p.stages {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return nil
}

// stage collects bindings for the next step.
type stage struct {
	plan     *plan
	next     int // number of the step that takes the block
	bindings block
	pending  []pendingRecord
}

// pendingRecord is a slot whose text is a typed hash: its value depends on
// whether that record is held.
type pendingRecord struct {
	row, slot int
	hash      record.Hash
}

// add counts a binding and returns it for filling in; it is valid until the
// next call. A full block goes to the next step first.
func (s *stage) add(row []value) ([]value, error) {
	if s.bindings.n == s.plan.e.batch {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	if err := s.plan.e.meter.spend(1); err != nil {
		return nil, err
	}
	return s.bindings.add(row), nil
}

// put sets a slot of the binding that was added last. Text that is a typed
// hash is a record if that is held, which is asked for the whole block.
func (s *stage) put(row []value, slot int, text []byte) {
	e := s.plan.e
	if !record.IsHash(text) {
		row[slot] = e.texts.intern(text)
		return
	}
	// A hash among the texts is known not to be held at the boundary.
	if v, ok := e.texts.lookup(text); ok {
		row[slot] = v
		return
	}
	s.pending = append(s.pending, pendingRecord{s.bindings.n - 1, slot, record.Hash(text)})
}

// flush hands the bindings to the next step, or to the sink.
func (s *stage) flush() error {
	if s.bindings.n == 0 {
		return nil
	}
	if err := s.settle(); err != nil {
		return err
	}
	defer s.bindings.reset()
	p := s.plan
	if s.next < len(p.steps) {
		return p.steps[s.next].apply(&s.bindings, p.stages[s.next+1])
	}
	for i := range s.bindings.n {
		if err := p.sink(s.bindings.row(i)); err != nil {
			return err
		}
	}
	return nil
}

// settle resolves the pending hashes of the block in batches.
func (s *stage) settle() error {
	if len(s.pending) == 0 {
		return nil
	}
	e := s.plan.e
	values, err := e.recordValues(len(s.pending), func(i int) record.Hash { return s.pending[i].hash })
	if err != nil {
		return err
	}
	for i, p := range s.pending {
		s.bindings.row(p.row)[p.slot] = values[i]
	}
	s.pending = s.pending[:0]
	return nil
}

// recordValues returns the values of n typed hashes, which may repeat. It is
// valid until the next call.
func (s *session) recordValues(n int, hash func(i int) record.Hash) ([]value, error) {
	clear(s.unique)
	hashes := s.hashes[:0]
	for i := range n {
		h := hash(i)
		if _, met := s.unique[h]; !met {
			s.unique[h] = len(hashes)
			hashes = append(hashes, h)
		}
	}
	s.hashes = hashes
	ids, err := s.resolve(hashes)
	if err != nil {
		return nil, err
	}
	s.values = s.values[:0]
	for i := range n {
		h := hash(i)
		if id := ids[s.unique[h]]; id != 0 {
			s.values = append(s.values, value(id))
		} else {
			s.values = append(s.values, s.texts.intern(h[:]))
		}
	}
	return s.values, nil
}

// build turns the choices of a rule into a plan.
func (e *Evaluator) build(rule *program.Rule, choices []choice, sink func(row []value) error) (*plan, error) {
	var steps []step
	for i := range choices {
		s, err := e.step(rule, &choices[i])
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return e.newPlan(rule, steps, sink), nil
}

func (e *Evaluator) step(rule *program.Rule, c *choice) (step, error) {
	switch {
	case c.relation != nil:
		return e.newRelationStep(c.relation, c.before, c.live), nil
	case c.group != nil:
		return e.newGroupStep(rule, c.group, c.before, c.live, false), nil
	case c.negated != nil:
		return e.newNegatedStep(rule, c.negated.Atom, c.before), nil
	case c.counted != nil:
		return e.newCountStep(rule, c.counted, c.before), nil
	case c.compare != nil:
		return e.newCompareStep(c.compare, c.before), nil
	case c.prefix != nil:
		return &filterStep{e: e, prefix: true, left: e.operandOf(c.prefix.Term), right: operand{slot: -1, text: []byte(c.prefix.Start)}}, nil
	}
	return nil, &store.Error{Kind: store.Integration, Doing: "plan", Where: rule.Position.String(), Found: fmt.Sprintf("an empty choice in %s", rule.Text)}
}
