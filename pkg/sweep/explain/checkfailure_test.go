package explain_test

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// failures checks that each rule of a predicate has its failure.
func (c *checker) failures(id program.PredicateID, goal explain.Atom, list []explain.Failure, cut string) {
	var rules []*program.Rule
	for i := range c.program.Rules {
		if c.program.Rules[i].Head.Predicate == id {
			rules = append(rules, &c.program.Rules[i])
		}
	}
	if cut != "" {
		c.cuts++
	} else if len(list) != len(rules) {
		c.failf("%d failures for the %d rules of %s", len(list), len(rules), goal)
	}
	for i := range list {
		if rule := c.rule(list[i].Rule); rule != rules[i] {
			c.failf("failure %d of %s is about %s", i, goal, rule.Text)
		}
		if !slices.Equal(list[i].Goal.Terms, goal.Terms) || list[i].Goal.Predicate != goal.Predicate {
			c.failf("the goal is %s, want %s", list[i].Goal, goal)
		}
		c.failure(rules[i], goal, &list[i])
	}
}

// answers returns the bindings of literals under which the head of the rule is
// what the goal wants.
func (c *checker) answers(rule *program.Rule, body []program.Literal, goal explain.Atom) []sweeptest.Binding {
	given, possible := unified(rule, goal)
	if !possible {
		return nil
	}
	return c.bindings(rule, append(slices.Clip(body), equalities(rule, goal)...), given)
}

// equalities are the comparisons that a goal with a repeated variable adds to
// the body of a rule.
func equalities(rule *program.Rule, goal explain.Atom) []program.Literal {
	var out []program.Literal
	for i, want := range goal.Terms {
		for k, other := range goal.Terms[:i] {
			if want.Variable != "" && want.Variable != "_" && want.Variable == other.Variable {
				out = append(out, program.Compare{
					Operator: program.Equal, Left: program.Operand{Term: rule.Head.Args[k]}, Right: program.Operand{Term: rule.Head.Args[i]},
				})
			}
		}
	}
	return out
}

// unified returns what the goal says about the slots of the head, its values
// and those that constants and other places of the head give its variables.
func unified(rule *program.Rule, goal explain.Atom) (given sweeptest.Binding, possible bool) {
	given = sweeptest.Binding{}
	variables := map[string]string{}
	for range len(goal.Terms) + 1 { // what one place says may matter before it
		for i, t := range rule.Head.Args {
			want, have := goal.Terms[i], t.Text
			bound := t.Form == program.Constant
			if t.Form == program.Variable {
				have, bound = given[t.Slot]
			}
			text, known := want.Value, want.Variable == ""
			if !known && want.Variable != "_" {
				text, known = variables[want.Variable]
			}
			switch {
			case bound && known && text != have:
				return nil, false
			case bound && want.Variable != "":
				variables[want.Variable] = have
			case known && !bound:
				given[t.Slot] = text
			}
		}
	}
	return given, true
}

// failure checks why one rule does not derive a goal.
func (c *checker) failure(rule *program.Rule, goal explain.Atom, f *explain.Failure) {
	if n := len(c.answers(rule, rule.Body, goal)); n > 0 {
		c.failf("%s has %d bindings for %s", rule.Text, n, goal)
	}
	var prefix []program.Literal
	for _, n := range f.Satisfied {
		prefix = append(prefix, rule.Body[n-1])
	}
	b := c.binding(rule, f.Binding)
	if f.Failed.Holds {
		c.failf("%s holds", f.Failed.Literal)
	}
	if f.Failed.Number == 0 {
		c.seen.failing[string(explain.Head)]++
		c.head(rule, goal, prefix, f)
		return
	}
	all := c.answers(rule, prefix, goal)
	if !slices.ContainsFunc(all, func(have sweeptest.Binding) bool { return equal(have, b) }) {
		c.failf("%v is no binding of %v in %s for %s", b, f.Satisfied, rule.Text, goal)
	}
	c.counted(f, all)
	lit := rule.Body[f.Failed.Number-1]
	c.seen.fail(f.Failed, c.program, lit)
	if n := len(c.answers(rule, append(slices.Clip(prefix), lit), goal)); n > 0 {
		c.failf("%s has %d bindings in %s for %s", f.Failed.Literal, n, rule.Text, goal)
	}
	c.isFirst(rule, f, b)
	c.reason(rule, lit, f.Failed, b)
}

func equal(a, b sweeptest.Binding) bool {
	if len(a) != len(b) {
		return false
	}
	for s, text := range a {
		if have, ok := b[s]; !ok || have != text {
			return false
		}
	}
	return true
}

// counted checks the number of distinct bindings.
func (c *checker) counted(f *explain.Failure, all []sweeptest.Binding) {
	var distinct []sweeptest.Binding
	for _, b := range all {
		if len(distinct) <= explain.MaxBindings && !slices.ContainsFunc(distinct, func(have sweeptest.Binding) bool { return equal(have, b) }) {
			distinct = append(distinct, b)
		}
	}
	if min(len(distinct), explain.MaxBindings) != f.Bindings {
		c.failf("%d bindings, want %d", f.Bindings, len(distinct))
	}
}

// isFirst checks that what stands before the failed literal and was not tried
// could not be tried yet.
func (c *checker) isFirst(rule *program.Rule, f *explain.Failure, b sweeptest.Binding) {
	open := func(terms ...program.Term) (n int) {
		for _, t := range terms {
			if _, bound := b[t.Slot]; t.Form == program.Variable && !bound {
				n++
			}
		}
		return n
	}
	for i, lit := range rule.Body[:f.Failed.Number-1] {
		if slices.Contains(f.Satisfied, i+1) {
			continue
		}
		ready := true
		switch lit := lit.(type) {
		case program.Negated:
			ready = open(lit.Atom.Args...) == 0
		case program.Compare:
			n := open(lit.Left.Term, lit.Right.Term)
			ready = n == 0 || n == 1 && lit.Operator == program.Equal && lit.Left.Form == program.PlainText
		case program.Prefix:
			ready = open(lit.Term) == 0
		case program.Cardinality:
			ready = false // it may wait for any literal that binds
		}
		if ready {
			c.failf("literal %d of %s comes before %d", i+1, rule.Text, f.Failed.Number)
		}
	}
}

// head checks that the head of a rule does not fit a goal.
func (c *checker) head(rule *program.Rule, goal explain.Atom, prefix []program.Literal, f *explain.Failure) {
	if f.Failed.Kind != explain.Head || len(f.Failed.Operands) != 2 || f.Failed.Operands[0].Value == f.Failed.Operands[1].Value {
		c.failf("%+v is no clash", f.Failed)
	}
	if n := len(c.answers(rule, prefix, goal)); n > 0 {
		c.failf("the head of %s fits %s in %d ways", rule.Text, goal, n)
	}
}

// reason checks the details of why a literal fails under one binding.
func (c *checker) reason(rule *program.Rule, lit program.Literal, f explain.Finding, b sweeptest.Binding) {
	if len(c.bindings(rule, []program.Literal{lit}, b)) > 0 {
		c.failf("%s holds under %v", f.Literal, b)
	}
	switch lit := lit.(type) {
	case program.Positive:
		if c.program.Predicates[lit.Atom.Predicate].Base == program.NotBase {
			c.nested(rule, lit.Atom, f, b)
		}
	case program.Negated:
		c.witness(rule, lit.Atom, f, b)
	case program.Compare:
		c.operands(f, b, lit.Left.Term, lit.Right.Term)
	case program.Prefix:
		c.operands(f, b, lit.Term)
	case program.Cardinality:
		c.count(rule, lit, f, b)
	case program.TopK:
		c.notRanked(rule, lit, f, b)
	}
}

// nested checks why no tuple of a helper matches an atom.
func (c *checker) nested(rule *program.Rule, a program.Atom, f explain.Finding, b sweeptest.Binding) {
	goal := explain.Atom{Predicate: c.program.Predicates[a.Predicate].Name}
	for _, t := range a.Args {
		term := explain.Term{Value: t.Text}
		if t.Form == program.Anonymous {
			term.Variable = "_"
		} else if t.Form == program.Variable {
			text, bound := b[t.Slot]
			if term.Value = text; !bound {
				term.Variable = rule.Slots[t.Slot]
			}
		}
		if n, held := c.model.Order(term.Value); held && term.Variable == "" {
			term.ID = store.RecordID(n)
		}
		goal.Terms = append(goal.Terms, term)
	}
	c.failures(a.Predicate, goal, f.Failures, f.Cut)
}

func (c *checker) notRanked(rule *program.Rule, lit program.TopK, f explain.Finding, b sweeptest.Binding) {
	candidates := c.bindings(rule, []program.Literal{program.Positive{Atom: lit.Atom}}, b)
	if (len(candidates) == 0) != (f.Atom == nil) {
		c.failf("%s: %d candidates, atom %v", f.Literal, len(candidates), f.Atom)
	}
	switch {
	case f.Atom == nil && c.program.Predicates[lit.Atom.Predicate].Base == program.NotBase:
		c.nested(rule, lit.Atom, f, b)
	case f.Atom == nil:
	case f.Rank != nil:
		if c.rank(rule, lit, f, b); f.Rank.Place <= f.Rank.Limit {
			c.failf("rank %+v fails", f.Rank)
		}
	default:
		c.instance(rule, lit.Atom.Args, f.Atom.Terms, b)
		for _, candidate := range candidates {
			if place, _ := c.model.Rank(rule, lit, candidate); place != 0 {
				c.failf("%s has no rank, want %d", f.Atom, place)
			}
		}
	}
}
