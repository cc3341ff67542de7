package explain

import (
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// want is one argument of a goal: a value, or a variable that has none. The
// places of one variable want the same value.
type want struct {
	value    eval.Value
	variable string // "_" is anonymous
}

// conclusion is a tuple that was derived.
type conclusion struct {
	predicate program.PredicateID
	tuple     []eval.Value
	// at is when, unless nothing can depend on it, as on what is selected.
	at *eval.Moment
}

func (c conclusion) args() []want {
	args := make([]want, len(c.tuple))
	for i, v := range c.tuple {
		args[i].value = v
	}
	return args
}

// goalOf returns what an atom wants under a binding.
func (x *explainer) goalOf(rule *program.Rule, a program.Atom, b eval.Binding) []want {
	args := make([]want, len(a.Args))
	for i, t := range a.Args {
		switch {
		case t.Form == program.Constant:
			args[i].value = x.q.Constant(t.Text)
		case t.Form == program.Anonymous:
			args[i].variable = "_"
		case b[t.Slot].IsNone():
			args[i].variable = rule.Slots[t.Slot]
		default:
			args[i].value = b[t.Slot]
		}
	}
	return args
}

// goalAtom materialises a goal.
func (x *explainer) goalAtom(id program.PredicateID, args []want) (Atom, error) {
	values := make([]eval.Value, len(args))
	for i, a := range args {
		values[i] = a.value
	}
	terms, err := x.terms(values, func(i int) string { return args[i].variable })
	return Atom{Predicate: printer{predicates: x.program.Predicates}.name(id), Terms: terms}, err
}

// unification gives the head of a rule the values of a goal.
type unification struct {
	x     *explainer
	given eval.Binding
	// equal are comparisons of slots of the head that no value is given to but
	// that stand for one variable of the goal.
	equal []program.Literal
	clash [2]eval.Value // unless none, two values that would have to be one
}

// unify returns what a goal says about the slots of a rule, if its head fits.
func (x *explainer) unify(rule *program.Rule, goal []want) *unification {
	u := &unification{x: x, given: make(eval.Binding, len(rule.Slots))}
	// A value may reach a variable of the goal behind its first place, so the
	// places are gone through until nothing is learned.
	known := map[string]eval.Value{}
	for again := true; again && u.clash[0].IsNone(); {
		again = false
		for i, t := range rule.Head.Args {
			v := goal[i].value
			name := goal[i].variable
			if v.IsNone() && name != "_" {
				v = known[name]
			}
			have := x.valueOf(t, u.given)
			switch {
			case v.IsNone() && (have.IsNone() || name == "_"):
			case v.IsNone():
				known[name], again = have, true
			case have.IsNone():
				u.given[t.Slot], again = v, true
			case have != v:
				u.clash = [2]eval.Value{have, v}
			}
		}
	}
	u.joinOpen(rule, goal)
	return u
}

// joinOpen compares the slots that stay open in the places of one variable.
func (u *unification) joinOpen(rule *program.Rule, goal []want) {
	first := map[string]program.Term{}
	for i, t := range rule.Head.Args {
		name := goal[i].variable
		if name == "" || name == "_" || !u.x.valueOf(t, u.given).IsNone() {
			continue
		}
		if before, met := first[name]; met && before != t {
			u.equal = append(u.equal, program.Compare{Operator: program.Equal, Left: program.Operand{Term: before}, Right: program.Operand{Term: t}, Position: rule.Position})
		} else {
			first[name] = t
		}
	}
}

func (x *explainer) valueOf(t program.Term, b eval.Binding) eval.Value {
	switch t.Form {
	case program.Constant:
		return x.q.Constant(t.Text)
	case program.Variable:
		return b[t.Slot]
	}
	return eval.Value{}
}
