package eval

import "github.com/lace-store/lace/pkg/policy/program"

// slotSet is a set of the slots of one rule.
type slotSet []bool

func newSlotSet(rule *program.Rule) slotSet { return make(slotSet, len(rule.Slots)) }

func (s slotSet) clone() slotSet { return append(slotSet(nil), s...) }

func (s slotSet) add(slots ...program.Slot) {
	for _, slot := range slots {
		s[slot] = true
	}
}

// hasAll reports whether every slot is in the set.
func (s slotSet) hasAll(slots []program.Slot) bool {
	for _, slot := range slots {
		if !s[slot] {
			return false
		}
	}
	return true
}

// slotsOf lists the variables of terms, with repeats.
func slotsOf(terms ...program.Term) []program.Slot {
	var slots []program.Slot
	for _, t := range terms {
		if t.Form == program.Variable {
			slots = append(slots, t.Slot)
		}
	}
	return slots
}

// boundSlots returns the slots that the literals of a rule bind: all but those
// that are local to a Cardinality.
func boundSlots(rule *program.Rule) slotSet {
	bound := newSlotSet(rule)
	for _, lit := range rule.Body {
		switch lit := lit.(type) {
		case program.Positive:
			bound.add(slotsOf(lit.Atom.Args...)...)
		case program.TopK:
			bound.add(slotsOf(lit.Atom.Args...)...)
		}
	}
	for again := true; again; {
		again = false
		for _, lit := range rule.Body {
			c, ok := lit.(program.Compare)
			if !ok || !binds(c, bound) || bound.hasAll(compareSlots(c)) {
				continue
			}
			bound.add(compareSlots(c)...)
			again = true
		}
	}
	return bound
}

// binds reports whether a comparison gives one side what the other has.
func binds(c program.Compare, bound slotSet) bool {
	return c.Operator == program.Equal && c.Left.Form == program.PlainText &&
		(bound.hasAll(slotsOf(c.Left.Term)) || bound.hasAll(slotsOf(c.Right.Term)))
}

func compareSlots(c program.Compare) []program.Slot { return slotsOf(c.Left.Term, c.Right.Term) }

// sameTerm reports whether two terms are the same variable or constant. Two
// anonymous variables never are.
func sameTerm(a, b program.Term) bool {
	switch {
	case a.Form != b.Form || a.Form == program.Anonymous:
		return false
	case a.Form == program.Variable:
		return a.Slot == b.Slot
	}
	return a.Text == b.Text
}
