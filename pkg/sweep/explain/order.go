package explain

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// numbered is a literal with its one-based place in the body; what a goal adds
// to the body has the number 0.
type numbered struct {
	number  int
	literal program.Literal
}

func literals(list []numbered) []program.Literal {
	out := make([]program.Literal, len(list))
	for i, n := range list {
		out[i] = n.literal
	}
	return out
}

// inOrder returns the literals in the order in which they are tried: that of
// the body, but each behind what it needs bound. The slots of given are bound
// to begin with.
func inOrder(rule *program.Rule, body []numbered, given eval.Binding) []numbered {
	o := &ordering{bound: make([]bool, len(rule.Slots)), binders: make([]bool, len(rule.Slots))}
	for s, v := range given {
		o.bound[s] = !v.IsNone()
	}
	spread(o.binders, body)
	left, out := slices.Clone(body), make([]numbered, 0, len(body))
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(n numbered) bool { return o.isReady(n.literal, out) })
		if at < 0 {
			panic("explain: an unsafe rule: " + rule.Text)
		}
		out = append(out, left[at])
		spread(o.bound, left[at:at+1])
		left = slices.Delete(left, at, at+1)
	}
	return out
}

type ordering struct {
	bound   []bool // by what was taken or given
	binders []bool // slots that some literal of the body binds
}

// spread adds the slots that literals bind.
func spread(bound []bool, body []numbered) {
	for again := true; again; {
		again = false
		for _, n := range body {
			for _, s := range binds(n.literal, bound) {
				again = again || !bound[s]
				bound[s] = true
			}
		}
	}
}

// binds returns the slots that a literal binds, given those that are bound.
func binds(lit program.Literal, bound []bool) []program.Slot {
	switch lit := lit.(type) {
	case program.Positive:
		return slotsOf(lit.Atom.Args...)
	case program.TopK:
		return slotsOf(lit.Atom.Args...)
	case program.Compare:
		slots := slotsOf(lit.Left.Term, lit.Right.Term)
		open := slices.DeleteFunc(slices.Clone(slots), func(s program.Slot) bool { return bound[s] })
		if lit.Operator == program.Equal && lit.Left.Form == program.PlainText && len(open) < 2 && lit.Left.Term != lit.Right.Term {
			return slots
		}
	}
	return nil
}

func (o *ordering) isReady(lit program.Literal, taken []numbered) bool {
	switch lit := lit.(type) {
	case program.Negated:
		return all(o.bound, slotsOf(lit.Atom.Args...))
	case program.Compare:
		return all(o.bound, slotsOf(lit.Left.Term, lit.Right.Term)) || len(binds(lit, o.bound)) > 0
	case program.Prefix:
		return all(o.bound, slotsOf(lit.Term))
	case program.Cardinality:
		// Which of its variables are local is decided by the literals that go
		// with it, not by what is given.
		static := make([]bool, len(o.bound))
		spread(static, taken)
		return all(static, outer(lit, o.binders))
	}
	return true
}

// outer lists the variables of a Cardinality that other literals bind.
func outer(lit program.Cardinality, binders []bool) []program.Slot {
	return slices.DeleteFunc(slotsOf(lit.Atom.Args...), func(s program.Slot) bool { return !binders[s] })
}

func all(set []bool, slots []program.Slot) bool {
	return !slices.ContainsFunc(slots, func(s program.Slot) bool { return !set[s] })
}

// slotsOf lists the variables of terms, each once.
func slotsOf(terms ...program.Term) []program.Slot {
	var slots []program.Slot
	for _, t := range terms {
		if t.Form == program.Variable && !slices.Contains(slots, t.Slot) {
			slots = append(slots, t.Slot)
		}
	}
	return slots
}
