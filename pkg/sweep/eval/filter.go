package eval

import (
	"bytes"
	"cmp"

	"github.com/lace-store/lace/pkg/policy/program"
)

// operand is a slot, or a constant when slot is negative.
type operand struct {
	slot  int
	value value
	text  []byte
}

func (e *Evaluator) operandOf(t program.Term) operand {
	if t.Form == program.Constant {
		return operand{slot: -1, value: e.constants[t.Text], text: []byte(t.Text)}
	}
	return operand{slot: int(t.Slot)}
}

func (o *operand) of(row []value) value {
	if o.slot < 0 {
		return o.value
	}
	return row[o.slot]
}

// filterStep keeps the bindings for which a comparison or a prefix holds.
type filterStep struct {
	e           *Evaluator
	operator    program.Operator
	form        program.OperandForm
	prefix      bool
	left, right operand
	texts       [2][][]byte // of a block
}

// assignStep binds a slot to what a '=' says.
type assignStep struct {
	to   int
	from operand
}

// newCompareStep returns the step for a comparison; a '=' with a side that
// nothing has bound binds it.
func (e *Evaluator) newCompareStep(c *program.Compare, before slotSet) step {
	left, right := e.operandOf(c.Left.Term), e.operandOf(c.Right.Term)
	switch {
	case !before.hasAll(slotsOf(c.Left.Term)):
		return &assignStep{to: left.slot, from: right}
	case !before.hasAll(slotsOf(c.Right.Term)):
		return &assignStep{to: right.slot, from: left}
	}
	return &filterStep{e: e, operator: c.Operator, form: c.Left.Form, left: left, right: right}
}

func (s *assignStep) apply(in *block, out *stage) error {
	for i := range in.n {
		row, err := out.add(in.row(i))
		if err != nil {
			return err
		}
		row[s.to] = s.from.of(row)
	}
	return nil
}

func (s *filterStep) apply(in *block, out *stage) error {
	holds, err := s.decider(in)
	if err != nil {
		return err
	}
	return pass(in, out, holds)
}

// pass hands on the bindings for which holds is true. They were counted
// already.
func pass(in *block, out *stage, holds func(i int) bool) error {
	kept := 0
	for i := range in.n {
		if holds(i) {
			in.keep(kept, i)
			kept++
		}
	}
	in.n = kept
	return out.take(in)
}

// take hands a block on as it is, behind what waits already.
func (s *stage) take(in *block) error {
	if s.bindings.n == 0 {
		*in, s.bindings = s.bindings, *in
		return nil
	}
	for i := range in.n {
		if s.bindings.n == s.plan.e.batch {
			if err := s.flush(); err != nil {
				return err
			}
		}
		s.bindings.add(in.row(i))
	}
	return nil
}

// decider returns what decides binding i of a block, with the texts it needs
// at hand.
func (s *filterStep) decider(in *block) (func(i int) bool, error) {
	if !s.prefix {
		switch {
		case s.form == program.AdmitOrder:
			return func(i int) bool {
				left, right := s.left.of(in.row(i)), s.right.of(in.row(i))
				return left.isRecord() && right.isRecord() && s.operator.Holds(cmp.Compare(left, right))
			}, nil
		case s.form == program.Number:
			return func(i int) bool {
				left, right := s.left.of(in.row(i)), s.right.of(in.row(i))
				// A typed hash is no number.
				return !left.isRecord() && !right.isRecord() &&
					compareTexts(s.form, s.operator, s.e.texts.text(left), s.e.texts.text(right))
			}, nil
		case s.operator == program.Equal || s.operator == program.NotEqual:
			return func(i int) bool {
				return (s.left.of(in.row(i)) == s.right.of(in.row(i))) == (s.operator == program.Equal)
			}, nil
		}
	}
	for k, o := range []operand{s.left, s.right} {
		s.texts[k] = s.texts[k][:0]
		if o.slot >= 0 {
			var err error
			if s.texts[k], err = s.e.slotTexts(s.texts[k], in, o.slot); err != nil {
				return nil, err
			}
		}
	}
	return func(i int) bool {
		left, right := s.side(0, &s.left, i), s.side(1, &s.right, i)
		if s.prefix {
			return bytes.HasPrefix(left, right)
		}
		return s.operator.Holds(bytes.Compare(left, right))
	}, nil
}

func (s *filterStep) side(k int, o *operand, i int) []byte {
	if o.slot < 0 {
		return o.text
	}
	return s.texts[k][i]
}
