package program

import "github.com/lace-store/lace/pkg/policy/syntax"

// checkSafety reports the variables to which nothing gives a value, each at
// the first place that needs one.
func (b *body) checkSafety(headGood bool) {
	bound := b.boundSlots()
	report := func(at syntax.Position, where string, slots []Slot) {
		var open []Slot
		for _, s := range slots {
			if !bound[s] {
				bound[s] = true
				open = append(open, s)
			}
		}
		if len(open) > 0 {
			b.fail(CodeUnsafe, at, b.slotNames(open), "nothing gives a value to a variable of "+where,
				"use it in a positive literal too; any value is written _, a text in quotes")
		}
	}
	if headGood {
		report(b.rule.Position, "the head", slotsOf(b.rule.Head))
	}
	for _, l := range b.rule.Body {
		switch l := l.(type) {
		case Negated:
			report(l.Position, "a negated literal", slotsOf(l.Atom))
		case Compare:
			report(l.Position, "Compare", appendSlot(appendSlot(nil, l.Left.Term), l.Right.Term))
		case Prefix:
			report(l.Position, "Prefix", appendSlot(nil, l.Term))
		}
	}
	b.checkLocals(bound)
}

// boundSlots returns the variables that positive literals, TopK candidates and
// '=' comparisons give a value, and those of literals that are wrong.
func (b *body) boundSlots() []bool {
	bound := make([]bool, len(b.rule.Slots))
	for s := range b.assumed {
		bound[s] = true
	}
	for _, l := range b.rule.Body {
		switch l := l.(type) {
		case Positive:
			mark(bound, slotsOf(l.Atom))
		case TopK:
			mark(bound, slotsOf(l.Atom))
		}
	}
	b.spread(bound)
	return bound
}

func mark(bound []bool, slots []Slot) {
	for _, s := range slots {
		bound[s] = true
	}
}

// spread binds what '=' comparisons bind: a plain variable with one side bound
// binds the other, over any chain of them.
func (b *body) spread(bound []bool) {
	equal := map[Slot][]Slot{}
	for _, l := range b.rule.Body {
		c, ok := l.(Compare)
		if !ok || c.Operator != Equal || c.Left.Form != PlainText {
			continue
		}
		left, right := c.Left.Term, c.Right.Term
		switch {
		case left.Form == Variable && right.Form == Variable:
			equal[left.Slot] = append(equal[left.Slot], right.Slot)
			equal[right.Slot] = append(equal[right.Slot], left.Slot)
		case left.Form == Variable:
			bound[left.Slot] = true
		case right.Form == Variable:
			bound[right.Slot] = true
		}
	}
	var todo []Slot
	for s := range equal {
		if bound[s] {
			todo = append(todo, s)
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, other := range equal[s] {
			if !bound[other] {
				bound[other] = true
				todo = append(todo, other)
			}
		}
	}
}

// checkLocals refuses a variable that is local to two Cardinality atoms: it
// would look like a join and be none.
func (b *body) checkLocals(bound []bool) {
	owner := map[Slot]int{}
	for i, l := range b.rule.Body {
		c, ok := l.(Cardinality)
		if !ok {
			continue
		}
		var shared []Slot
		for _, s := range slotsOf(c.Atom) {
			if bound[s] {
				continue
			}
			if _, seen := owner[s]; seen {
				shared = append(shared, s)
			}
			owner[s] = i
		}
		if len(shared) > 0 {
			b.fail(CodeLocal, c.Position, b.slotNames(shared), "a variable is local to two Cardinality literals",
				"rename it in one of them, or bind it in a positive literal")
		}
	}
}
