package program

import (
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// checkSafety reports the variables that nothing gives a value.
func (b *body) checkSafety() {
	bound := b.boundSlots()
	report := func(at syntax.Position, slots []Slot, where string) {
		var names []string
		for _, s := range slots {
			if name := b.rule.Slots[s]; !bound[s] && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			b.errorf(CodeUnsafe, at, strings.Join(names, ", "), "use it in a positive literal, or write _ where any value will do",
				"nothing gives a value to a variable of %s", where)
		}
	}
	report(b.rule.Position, slotsOf(b.rule.Head), "the head")
	for _, l := range b.rule.Body {
		switch l := l.(type) {
		case Negated:
			report(l.Position, slotsOf(l.Atom), "a negated literal")
		case Compare:
			report(l.Position, slotsOf(Atom{Args: []Term{l.Left.Term, l.Right.Term}}), "a comparison")
		case Prefix:
			report(l.Position, slotsOf(Atom{Args: []Term{l.Term}}), "Prefix")
		}
	}
	b.checkLocals(bound)
}

// boundSlots returns the variables that positive literals, TopK candidates and
// '=' comparisons give a value.
func (b *body) boundSlots() map[Slot]bool {
	bound := map[Slot]bool{}
	for _, l := range b.rule.Body {
		switch l := l.(type) {
		case Positive:
			for _, s := range slotsOf(l.Atom) {
				bound[s] = true
			}
		case TopK:
			for _, s := range slotsOf(l.Atom) {
				bound[s] = true
			}
		}
	}
	has := func(t Term) bool { return t.Form == Constant || t.Form == Variable && bound[t.Slot] }
	for changed := true; changed; {
		changed = false
		for _, l := range b.rule.Body {
			c, ok := l.(Compare)
			if !ok || c.Operator != Equal || c.Left.Form != PlainText {
				continue
			}
			left, right := c.Left.Term, c.Right.Term
			if has(left) != has(right) {
				for _, t := range []Term{left, right} {
					if t.Form == Variable {
						bound[t.Slot] = true
					}
				}
				changed = true
			}
		}
	}
	return bound
}

// checkLocals refuses a variable that is local to two Cardinality atoms: it
// would look like a join and be none.
func (b *body) checkLocals(bound map[Slot]bool) {
	owner := map[Slot]int{}
	for i, l := range b.rule.Body {
		c, ok := l.(Cardinality)
		if !ok {
			continue
		}
		for _, s := range slotsOf(c.Atom) {
			first, seen := owner[s]
			if bound[s] || seen && first == i {
				continue
			}
			if seen {
				b.errorf(CodeLocal, c.Position, b.rule.Slots[s], "rename it in one of them, or bind it in a positive literal",
					"a variable is local to two Cardinality literals")
				continue
			}
			owner[s] = i
		}
	}
}
