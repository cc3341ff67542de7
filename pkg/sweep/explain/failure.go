package explain

import (
	"fmt"
	"sort"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// failures says for each rule of a predicate why it does not derive a goal.
// What has no room is left out, and cut says why.
func (x *explainer) failures(id program.PredicateID, goal []want) (list []Failure, cut string, err error) {
	key := goalKey(id, goal)
	if x.path[key] {
		return nil, "this is the goal of a rule above", nil
	}
	x.path[key] = true
	defer delete(x.path, key)
	x.depth++
	defer func() { x.depth-- }()
	err = x.rulesOf(id, func(rule *program.Rule) (bool, error) {
		if cut = x.enter(); cut != "" {
			return true, nil
		}
		f, err := x.failure(rule, id, goal)
		list = append(list, f)
		return false, err
	})
	return list, cut, err
}

// goalKey identifies a goal. It begins unlike the key of an atom.
func goalKey(id program.PredicateID, goal []want) string {
	key := fmt.Appendf(nil, "?%d:", id)
	for _, w := range goal {
		key = eval.AppendKey(key, w.value)
		key = append(append(key, w.variable...), 0)
	}
	return string(key)
}

// failure says why one rule does not derive a goal.
func (x *explainer) failure(rule *program.Rule, id program.PredicateID, goal []want) (Failure, error) {
	f := Failure{Rule: x.ruleOf(rule), Satisfied: []int{}, Binding: []Variable{}, Bindings: 1}
	var err error
	if f.Goal, err = x.goalAtom(id, goal); err != nil {
		return f, err
	}
	u := x.unify(rule, goal)
	if !u.clash[0].IsNone() {
		f.Failed, err = x.clash(rule, u)
		return f, err
	}
	var body []numbered
	for _, lit := range u.equal {
		body = append(body, numbered{0, lit})
	}
	body = inOrder(rule, append(body, x.body(rule)...), u.given)
	n, err := x.satisfiable(rule, body, u.given)
	if err != nil {
		return f, err
	}
	if n == len(body) {
		return f, &store.Error{Kind: store.Integration, Doing: "explain", Where: rule.Position.String(), Found: "a rule that derives what its relation lacks: " + rule.Text}
	}
	for _, lit := range body[:n] {
		if lit.number > 0 {
			f.Satisfied = append(f.Satisfied, lit.number)
		}
	}
	b, err := x.sample(&f, rule, body[:n], u.given)
	if err != nil {
		return f, err
	}
	if f.Binding, err = x.binding(rule, b); err != nil {
		return f, err
	}
	f.Failed, err = x.fails(rule, body[n], b)
	return f, err
}

// clash is the finding that the head does not fit.
func (x *explainer) clash(rule *program.Rule, u *unification) (Finding, error) {
	f := Finding{Kind: Head, Literal: x.printer(rule).atom(rule.Head)}
	terms, err := x.terms(u.clash[:], nil)
	if err == nil {
		f.Operands = terms
		f.Says = fmt.Sprintf("the head has %s where %s is wanted", terms[0], terms[1])
	}
	return f, err
}

// satisfiable returns how many literals, from the first on, have a common
// binding.
func (x *explainer) satisfiable(rule *program.Rule, body []numbered, given eval.Binding) (int, error) {
	var failed error
	n := sort.Search(len(body), func(i int) bool {
		if failed != nil {
			return true
		}
		holds, err := x.q.Holds(rule, literals(body[:i+1]), given)
		failed = err
		return !holds
	})
	return n, failed
}

// sample returns one binding of literals that hold together, and counts them.
func (x *explainer) sample(f *Failure, rule *program.Rule, body []numbered, given eval.Binding) (first eval.Binding, err error) {
	seen := map[string]bool{}
	err = x.q.Ask(rule, literals(body), given, boundSlots(rule, body, given), func(b eval.Binding) (bool, error) {
		if first == nil {
			first = append(eval.Binding{}, b...)
		}
		seen[string(eval.AppendKey(nil, b...))] = true
		return len(seen) < MaxBindings, nil
	})
	f.Bindings = len(seen)
	return first, err
}

// fails writes down why a literal does not hold under a binding of those
// before it.
func (x *explainer) fails(rule *program.Rule, n numbered, b eval.Binding) (f Finding, err error) {
	f = x.begin(rule, n)
	switch lit := n.literal.(type) {
	case program.Positive:
		f.Says = "no match"
		if f.Kind == Derived {
			f.Says = "not derived"
			f.Failures, f.Cut, err = x.failures(lit.Atom.Predicate, x.goalOf(rule, lit.Atom, b))
		}
	case program.Negated:
		f.Says = "there is a match"
		err = x.witness(&f, rule, lit.Atom, b)
	case program.Compare:
		err = x.compare(&f, rule, lit, b)
		if n.number == 0 {
			f.Kind, f.Literal = Head, x.printer(rule).atom(rule.Head)
			f.Says = fmt.Sprintf("the goal wants one value where the head has %s and %s", f.Operands[0], f.Operands[1])
		}
	case program.Prefix:
		err = x.prefix(&f, rule, lit, b)
	case program.Cardinality:
		err = x.count(&f, rule, lit, b)
	case program.TopK:
		err = x.notRanked(&f, rule, lit, b)
	}
	return f, err
}

// notRanked says why no winner of a TopK agrees with a binding: there is no
// candidate, or it has no place in the order, or one behind the limit.
func (x *explainer) notRanked(f *Finding, rule *program.Rule, lit program.TopK, b eval.Binding) error {
	candidate, placed, err := x.candidate(rule, lit, b)
	if err != nil {
		return err
	}
	if candidate == nil {
		f.Says = "no candidate"
		if x.isDerived(lit.Atom.Predicate) {
			f.Failures, f.Cut, err = x.failures(lit.Atom.Predicate, x.goalOf(rule, lit.Atom, b))
		}
		return err
	}
	err = x.q.Matches(rule, lit.Atom, candidate, func(tuple []eval.Value) (more bool, err error) {
		f.Atom, err = x.tuple(lit.Atom.Predicate, tuple)
		return false, err
	})
	if err != nil {
		return err
	}
	if placed {
		return x.rank(f, rule, lit, candidate)
	}
	if err := x.operands(f, candidate, lit.Order.Term); err != nil {
		return err
	}
	f.Says = f.Operands[0].String() + " is not a canonical number, and has no rank"
	if lit.Order.Form == program.AdmitOrder {
		f.Says = f.Operands[0].String() + " is not a record of the root, and has no rank"
	}
	return nil
}

// candidate returns the first candidate of a TopK that agrees with a binding,
// of those with a place in the order if there are any.
func (x *explainer) candidate(rule *program.Rule, lit program.TopK, b eval.Binding) (first eval.Binding, placed bool, err error) {
	given := make(eval.Binding, len(b))
	slots := slotsOf(lit.Atom.Args...)
	for _, s := range slots {
		given[s] = b[s]
	}
	body := []program.Literal{program.Positive{Atom: lit.Atom, Position: lit.Position}}
	err = x.q.Ask(rule, body, given, slots, func(found eval.Binding) (bool, error) {
		placed, err = x.q.HasPlace(lit, found[lit.Order.Term.Slot])
		if first == nil || placed {
			first = append(eval.Binding{}, found...)
		}
		return !placed, err
	})
	return first, placed, err
}
