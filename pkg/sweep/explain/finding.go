package explain

import (
	"fmt"
	"strings"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// begin returns the finding about a literal, without its details.
func (x *explainer) begin(rule *program.Rule, n numbered) Finding {
	f := Finding{Number: n.number, Literal: x.printer(rule).literal(n.literal)}
	switch lit := n.literal.(type) {
	case program.Positive:
		f.Kind = Fact
		if x.isDerived(lit.Atom.Predicate) {
			f.Kind = Derived
		}
	case program.Negated:
		f.Kind = Not
	case program.Compare:
		f.Kind = Compare
	case program.Prefix:
		f.Kind = Prefix
	case program.Cardinality:
		f.Kind = Cardinality
	case program.TopK:
		f.Kind = TopK
	}
	return f
}

// holds writes down why a literal holds under a binding of the whole body.
func (x *explainer) holds(rule *program.Rule, n numbered, b eval.Binding) (f Finding, err error) {
	f = x.begin(rule, n)
	f.Holds = true
	switch lit := n.literal.(type) {
	case program.Positive:
		f.Says = "matches"
		err = x.witness(&f, rule, lit.Atom, b)
	case program.Negated:
		f.Says = "no match"
	case program.Compare:
		err = x.compare(&f, rule, lit, b)
	case program.Prefix:
		err = x.prefix(&f, rule, lit, b)
	case program.Cardinality:
		err = x.count(&f, rule, lit, b)
	case program.TopK:
		if err = x.witness(&f, rule, lit.Atom, b); err == nil {
			err = x.rank(&f, rule, lit, b)
		}
	}
	return f, err
}

// witness gives a finding the first tuple of an atom under a binding.
func (x *explainer) witness(f *Finding, rule *program.Rule, a program.Atom, b eval.Binding) error {
	if x.isDerived(a.Predicate) {
		return x.subtree(f, rule, a, b)
	}
	return x.q.Matches(rule, a, b, func(tuple []eval.Value) (more bool, err error) {
		f.Atom, err = x.tuple(a.Predicate, tuple)
		return false, err
	})
}

// operands materialises the operands of a comparison.
func (x *explainer) operands(f *Finding, b eval.Binding, terms ...program.Term) (err error) {
	values := make([]eval.Value, len(terms))
	for i, t := range terms {
		values[i] = x.valueOf(t, b)
	}
	f.Operands, err = x.terms(values, nil)
	return err
}

func (x *explainer) compare(f *Finding, rule *program.Rule, lit program.Compare, b eval.Binding) error {
	if err := x.operands(f, b, lit.Left.Term, lit.Right.Term); err != nil {
		return err
	}
	for _, o := range f.Operands {
		switch {
		case lit.Left.Form == program.AdmitOrder && o.ID == 0:
			f.Says = o.String() + " is not a record of the root"
			return nil
		case lit.Left.Form == program.Number && !program.IsNumber(o.Value):
			f.Says = o.String() + " is not a canonical number"
			return nil
		}
	}
	f.Says = fmt.Sprintf("%s %s %s", f.Operands[0], operator(lit.Operator), f.Operands[1]) + x.verdict(f)
	return nil
}

func (x *explainer) prefix(f *Finding, rule *program.Rule, lit program.Prefix, b eval.Binding) error {
	err := x.operands(f, b, lit.Term)
	if err == nil {
		f.Says = fmt.Sprintf("%s begins with %s", quote(f.Operands[0].Value), quote(lit.Start)) + x.verdict(f)
	}
	return err
}

func (x *explainer) verdict(f *Finding) string {
	if f.Holds {
		return ""
	}
	return " is false"
}

func (x *explainer) count(f *Finding, rule *program.Rule, lit program.Cardinality, b eval.Binding) error {
	n, err := x.q.Count(rule, lit.Atom, b)
	if err == nil {
		f.Counted = &n
		f.Says = fmt.Sprintf("counted %d, wanted %s '%s'", n, operator(lit.Operator), lit.Count)
	}
	return err
}

// rank says which place a candidate has. The binding has all its variables.
func (x *explainer) rank(f *Finding, rule *program.Rule, lit program.TopK, b eval.Binding) error {
	place, of, err := x.q.Rank(rule, lit, b)
	if err != nil {
		return err
	}
	partition := make(eval.Binding, len(rule.Slots))
	for _, s := range lit.Partition {
		partition[s] = b[s]
	}
	f.Rank = &Rank{Place: place, Of: of, Limit: lit.K}
	if f.Rank.Partition, err = x.binding(rule, partition); err != nil {
		return err
	}
	f.Says = fmt.Sprintf("%s of %d", ordinal(place), of)
	if len(f.Rank.Partition) > 0 {
		f.Says += " with " + variables(f.Rank.Partition)
	}
	f.Says += fmt.Sprintf(", limit %d", lit.K)
	return nil
}

func variables(list []Variable) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.String()
	}
	return strings.Join(texts, ", ")
}

func ordinal(n uint64) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
