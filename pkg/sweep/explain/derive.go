package explain

import (
	"errors"
	"fmt"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// again says that an atom was met below itself. Windowing clones a helper for
// each argument that the record is passed at, so that one tuple may be derived
// from what is the same tuple in the module. The derivation further down does
// without it, and takes its place.
type again struct {
	key string
	by  conclusion
}

func (a *again) Error() string { return "derived from itself" }

// key identifies an atom of the module.
func (x *explainer) key(c conclusion) string {
	id := c.predicate
	for x.program.Predicates[id].ClonedFrom != program.NoPredicate {
		id = x.program.Predicates[id].ClonedFrom
	}
	return string(eval.AppendKey(fmt.Appendf(nil, "%d:", id), c.tuple...))
}

// derivation returns the derivation of a tuple; nil when there is none, which
// is possible only for what is selected.
func (x *explainer) derivation(c conclusion) (*Derivation, error) {
	key := x.key(c)
	if x.path[key] {
		return nil, &again{key, c}
	}
	x.path[key] = true
	defer delete(x.path, key)
	for rules, shown := x.rules, len(x.log); ; {
		d, err := x.derivationBy(c)
		var loop *again
		if errors.As(err, &loop) && loop.key == key {
			c, x.rules = loop.by, rules
			for _, k := range x.log[shown:] {
				delete(x.shown, k)
			}
			x.log = x.log[:shown]
			continue
		}
		return d, err
	}
}

// derivationBy returns the derivation by the first rule that has one.
func (x *explainer) derivationBy(c conclusion) (d *Derivation, err error) {
	err = x.rulesOf(c.predicate, func(rule *program.Rule) (bool, error) {
		b, found, err := x.instance(rule, c)
		if err != nil || !found {
			return false, err
		}
		d, err = x.derivationOf(rule, c, b)
		return true, err
	})
	if err == nil && d == nil && c.at != nil {
		err = &store.Error{Kind: store.Integration, Doing: "explain",
			Found: "a tuple of " + printer{predicates: x.program.Predicates}.name(c.predicate) + " that no rule derives"}
	}
	return d, err
}

// instance returns a binding of the rule that derives the tuple from what was
// derived before it.
func (x *explainer) instance(rule *program.Rule, c conclusion) (found eval.Binding, ok bool, err error) {
	u := x.unify(rule, c.args())
	if !u.clash[0].IsNone() {
		return nil, false, nil
	}
	body := x.body(rule)
	err = x.q.Ask(rule, literals(body), u.given, boundSlots(rule, body, u.given), func(b eval.Binding) (bool, error) {
		founded, err := x.isFounded(rule, body, c, b)
		if founded {
			found, ok = append(eval.Binding(nil), b...), true
		}
		return !founded, err
	})
	return found, ok, err
}

// boundSlots lists the slots that literals bind together with what is given.
func boundSlots(rule *program.Rule, body []numbered, given eval.Binding) []program.Slot {
	bound := make([]bool, len(rule.Slots))
	for s, v := range given {
		bound[s] = !v.IsNone()
	}
	spread(bound, body)
	var slots []program.Slot
	for s, is := range bound {
		if is {
			slots = append(slots, program.Slot(s))
		}
	}
	return slots
}

// isFounded reports whether the premises that are mutually recursive with the
// conclusion came before it.
func (x *explainer) isFounded(rule *program.Rule, body []numbered, c conclusion, b eval.Binding) (bool, error) {
	for _, n := range body {
		lit, ok := n.literal.(program.Positive)
		if !ok || c.at == nil || !x.isDerived(lit.Atom.Predicate) || x.stratum[lit.Atom.Predicate] != x.stratum[c.predicate] {
			continue
		}
		_, at, found, err := x.q.Earliest(rule, lit.Atom, b)
		if err != nil || !found || !at.Before(*c.at) {
			return false, err
		}
	}
	return true, nil
}

// derivationOf writes one instance of a rule down.
func (x *explainer) derivationOf(rule *program.Rule, c conclusion, b eval.Binding) (*Derivation, error) {
	head, err := x.tuple(c.predicate, c.tuple)
	if err != nil {
		return nil, err
	}
	d := &Derivation{Conclusion: *head, Rule: x.ruleOf(rule), Premises: []Finding{}}
	if d.Binding, err = x.binding(rule, b); err != nil {
		return nil, err
	}
	for _, n := range x.body(rule) {
		f, err := x.holds(rule, n, b)
		if err != nil {
			return nil, err
		}
		d.Premises = append(d.Premises, f)
	}
	return d, nil
}

// subtree gives a finding its derived atom, with the derivation if there is
// room for it.
func (x *explainer) subtree(f *Finding, rule *program.Rule, a program.Atom, b eval.Binding) error {
	tuple, at, found, err := x.q.Earliest(rule, a, b)
	if err != nil || !found {
		return err
	}
	if f.Atom, err = x.tuple(a.Predicate, tuple); err != nil {
		return err
	}
	c := conclusion{a.Predicate, tuple, &at}
	key := x.key(c)
	if x.shown[key] {
		f.Cut = "its derivation is given above"
		return nil
	}
	if f.Cut = x.enter(); f.Cut != "" {
		return nil
	}
	x.depth++
	defer func() { x.depth-- }()
	if f.Derivation, err = x.derivation(c); err == nil {
		x.shown[key] = true
		x.log = append(x.log, key)
	}
	return err
}
