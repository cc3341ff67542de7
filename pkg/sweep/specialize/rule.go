package specialize

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// rule returns a rule of a helper as it derives a variant. Slots keep their
// numbers: a rule has its own.
func (r *rewriter) rule(rule program.Rule, v variant) program.Rule {
	rule.Head.Predicate = v.id
	values := map[program.Slot]program.Term{}
	var slots []program.Slot
	for i, constant := range v.fixed {
		t := rule.Head.Args[i]
		if constant.Form != program.Constant {
			continue
		}
		if t.Form == program.Variable {
			known, fixed := values[t.Slot]
			if !fixed {
				values[t.Slot] = constant
				slots = append(slots, t.Slot)
				continue
			}
			t = known
		}
		if t != constant {
			return never(rule, t, constant)
		}
	}
	body := make([]program.Literal, 0, len(rule.Body)+len(slots))
	for _, lit := range rule.Body {
		body = append(body, r.literal(lit, values))
	}
	for _, s := range slots {
		body = append(body, equal(program.Term{Form: program.Variable, Slot: s}, values[s], rule))
	}
	rule.Body = body
	return rule
}

// never returns a rule that derives nothing, since two constants are not
// equal. The variables of its head are bound all the same: it stays safe, also
// when comparisons are added to it.
func never(rule program.Rule, left, right program.Term) program.Rule {
	rule.Body = []program.Literal{equal(left, right, rule)}
	for _, t := range rule.Head.Args {
		if t.Form == program.Variable {
			rule.Body = append(rule.Body, equal(t, right, rule))
		}
	}
	return rule
}

func equal(left, right program.Term, rule program.Rule) program.Compare {
	return program.Compare{Operator: program.Equal, Left: program.Operand{Term: left}, Right: program.Operand{Term: right}, Position: rule.Position}
}

// literal returns a literal that reads a variant where it may.
func (r *rewriter) literal(lit program.Literal, values map[program.Slot]program.Term) program.Literal {
	switch lit := lit.(type) {
	case program.Positive:
		lit.Atom.Predicate = r.redirect(lit.Atom, values)
		return lit
	case program.Negated:
		lit.Atom.Predicate = r.redirect(lit.Atom, values)
		return lit
	case program.Cardinality:
		lit.Atom.Predicate = r.redirect(lit.Atom, values)
		return lit
	case program.TopK:
		partitioning := map[program.Slot]program.Term{}
		for _, s := range lit.Partition {
			if value, fixed := values[s]; fixed {
				partitioning[s] = value
			}
		}
		lit.Atom.Predicate = r.redirect(lit.Atom, partitioning)
		return lit
	}
	return lit
}

// redirect returns the predicate to read in place of the one of an atom.
func (r *rewriter) redirect(a program.Atom, values map[program.Slot]program.Term) program.PredicateID {
	id := a.Predicate
	if r.from.Predicates[id].Base != program.NotBase {
		return id
	}
	fixed := make([]program.Term, len(a.Args))
	if !r.whole[id] {
		for i, t := range a.Args {
			if t.Form == program.Variable {
				t = values[t.Slot] // anonymous unless it is fixed
			}
			if t.Form == program.Constant && r.carried.has(id, i) {
				fixed[i] = t
			}
		}
	}
	return r.variant(id, fixed)
}

// variant returns the predicate of a variant, which is made when it is new.
func (r *rewriter) variant(of program.PredicateID, fixed []program.Term) program.PredicateID {
	key := fmt.Sprint(of)
	for i, t := range fixed {
		if t.Form == program.Constant {
			key += fmt.Sprintf(" %d:%q", i, t.Text)
		}
	}
	id, known := r.ids[key]
	if known {
		return id
	}
	id = of
	if slices.ContainsFunc(fixed, func(t program.Term) bool { return t.Form == program.Constant }) {
		id = program.PredicateID(len(r.to.Predicates))
		original := r.from.Predicates[of]
		r.to.Predicates = append(r.to.Predicates, program.Predicate{Name: original.Name, Arity: original.Arity, ClonedFrom: of})
		r.variants[of]++
	}
	r.ids[key] = id
	r.todo = append(r.todo, variant{of: of, fixed: fixed, id: id})
	return id
}
