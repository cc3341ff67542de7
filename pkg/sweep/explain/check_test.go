package explain_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// checker holds one explanation of one record under one module against all
// that the oracle derives, and knows nothing of how it was made.
type checker struct {
	model   *sweeptest.Model
	program *program.Program
	// edges lead from each derived atom to those that its derivation is from.
	edges map[string][]string
	above []string // atoms that are said to be derived elsewhere
	seen  *seen
	cuts  int
}

func (c *checker) failf(format string, args ...any) {
	panic(checkError(fmt.Sprintf(format, args...)))
}

// checkError is what is wrong with an explanation.
type checkError string

// check returns what is wrong with an explanation; seen counts the literals, by kind.
func check(m *sweeptest.Model, p *program.Program, hash string, module explain.Module, seen *seen) (wrong error) {
	c := &checker{model: m, program: p, edges: map[string][]string{}, seen: seen}
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case checkError:
			wrong = fmt.Errorf("%s", string(cause))
		default:
			panic(cause)
		}
	}()
	n, _ := m.Order(hash)
	goal := explain.Atom{Predicate: "SelectStoredRecord", Terms: []explain.Term{{Value: hash, ID: store.RecordID(n)}}}
	if selected := m.Has(p.Select, []string{hash}); module.Selected != selected {
		c.failf("selected is %t, the oracle says %t", module.Selected, selected)
	}
	if !module.Selected {
		if module.Derivation != nil {
			c.failf("both a derivation and failures")
		}
		c.failures(p.Select, goal, module.Failures, module.Cut)
		return nil
	}
	if module.Derivation == nil || module.Failures != nil {
		c.failf("no derivation, or failures too")
	}
	c.derivation(goal, module.Derivation)
	for _, key := range c.above {
		if c.edges[key] == nil {
			c.failf("%s is derived nowhere above", key)
		}
	}
	c.acyclic()
	return nil
}

// acyclic checks that no atom is derived from itself.
func (c *checker) acyclic() {
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(key string)
	visit = func(key string) {
		switch state[key] {
		case visiting:
			c.failf("%s is derived from itself", key)
		case done:
			return
		}
		state[key] = visiting
		for _, premise := range c.edges[key] {
			visit(premise)
		}
		state[key] = done
	}
	for key := range c.edges {
		visit(key)
	}
}

func (c *checker) rule(r explain.Rule) *program.Rule {
	for i := range c.program.Rules {
		if rule := &c.program.Rules[i]; rule.Position.Line == r.Line && rule.Position.File == r.File {
			if rule.Text != r.Text {
				c.failf("rule text %q, want %q", r.Text, rule.Text)
			}
			return rule
		}
	}
	c.failf("no rule at %s:%d", r.File, r.Line)
	return nil
}

// binding reads the variables of a rule, whose names differ.
func (c *checker) binding(rule *program.Rule, list []explain.Variable) sweeptest.Binding {
	b := sweeptest.Binding{}
	for _, v := range list {
		slot := slices.Index(rule.Slots, v.Name)
		if slot < 0 || v.Variable != "" {
			c.failf("no variable %s, or no value of it, in %s", v.Name, rule.Text)
		}
		b[program.Slot(slot)] = v.Value
		c.term(v.Term)
	}
	return b
}

// term checks that exactly the records that are held have their id.
func (c *checker) term(t explain.Term) {
	n, held := c.model.Order(t.Value)
	if t.Variable == "" && (held != (t.ID != 0) || held && uint64(n) != uint64(t.ID)) {
		c.failf("%s has the id %d, want %d", t.Value, t.ID, n)
	}
}

func (c *checker) instance(rule *program.Rule, args []program.Term, terms []explain.Term, b sweeptest.Binding) {
	if len(args) != len(terms) {
		c.failf("%d terms, want %d", len(terms), len(args))
	}
	local := maps.Clone(b)
	for i, t := range args {
		c.term(terms[i])
		want := t.Text
		if t.Form == program.Anonymous {
			continue
		}
		if t.Form == program.Variable {
			if _, bound := local[t.Slot]; !bound {
				local[t.Slot] = terms[i].Value
			}
			want = local[t.Slot]
		}
		if terms[i].Variable != "" || terms[i].Value != want {
			c.failf("%v is no instance in %s under %v", terms, rule.Text, b)
		}
	}
}

func values(a explain.Atom) []string {
	var texts []string
	for _, t := range a.Terms {
		if t.Variable != "" {
			return nil
		}
		texts = append(texts, t.Value)
	}
	return texts
}

func atomKey(a explain.Atom) string { return a.Predicate + "\x00" + strings.Join(values(a), "\x00") }

func (c *checker) bindings(rule *program.Rule, body []program.Literal, given sweeptest.Binding) []sweeptest.Binding {
	out, err := c.model.Bindings(rule, body, given)
	if err != nil {
		panic(err)
	}
	return out
}

// derivation checks one application of a rule and those below it.
func (c *checker) derivation(goal explain.Atom, d *explain.Derivation) {
	if atomKey(goal) != atomKey(d.Conclusion) {
		c.failf("%s concludes %s", goal, d.Conclusion)
	}
	rule := c.rule(d.Rule)
	if name := c.program.Predicates[rule.Head.Predicate].Name; name != goal.Predicate {
		c.failf("a rule of %s for %s", name, goal.Predicate)
	}
	b := c.binding(rule, d.Binding)
	c.instance(rule, rule.Head.Args, d.Conclusion.Terms, b)
	if len(d.Premises) != len(rule.Body) {
		c.failf("%d premises of %s", len(d.Premises), rule.Text)
	}
	key := atomKey(goal)
	if c.edges[key] != nil {
		c.failf("%s is derived twice", goal)
	}
	c.edges[key] = []string{}
	for i, f := range d.Premises {
		if f.Number != i+1 || !f.Holds || f.Failures != nil {
			c.failf("premise %d: %+v", i+1, f)
		}
		if f.Kind == explain.Derived {
			c.edges[key] = append(c.edges[key], atomKey(*f.Atom))
		}
		c.premise(rule, rule.Body[i], f, b)
	}
	if len(c.bindings(rule, rule.Body, b)) == 0 {
		c.failf("%v does not satisfy %s", b, rule.Text)
	}
}

func (c *checker) premise(rule *program.Rule, lit program.Literal, f explain.Finding, b sweeptest.Binding) {
	c.seen.hold(f.Kind, c.program, lit)
	one := []program.Literal{lit}
	if _, ranked := lit.(program.TopK); !ranked && len(c.bindings(rule, one, b)) == 0 {
		c.failf("%s does not hold under %v", f.Literal, b)
	}
	switch lit := lit.(type) {
	case program.Positive:
		c.witness(rule, lit.Atom, f, b)
	case program.Cardinality:
		c.count(rule, lit, f, b)
	case program.TopK:
		c.witness(rule, lit.Atom, f, b)
		if c.rank(rule, lit, f, b); f.Rank.Place > f.Rank.Limit || f.Rank.Place == 0 {
			c.failf("rank %+v holds", f.Rank)
		}
	case program.Compare:
		c.operands(f, b, lit.Left.Term, lit.Right.Term)
	case program.Prefix:
		c.operands(f, b, lit.Term)
	}
}

func (c *checker) operands(f explain.Finding, b sweeptest.Binding, terms ...program.Term) {
	c.instance(&program.Rule{}, terms, f.Operands, b)
}

func (c *checker) count(rule *program.Rule, lit program.Cardinality, f explain.Finding, b sweeptest.Binding) {
	if n := c.model.Count(rule, lit.Atom, b); f.Counted == nil || *f.Counted != uint64(n) {
		c.failf("%s counted %v, want %d", f.Literal, f.Counted, n)
	}
}

// witness checks the tuple that matches an atom, and its derivation.
func (c *checker) witness(rule *program.Rule, a program.Atom, f explain.Finding, b sweeptest.Binding) {
	if f.Atom == nil {
		c.failf("%s has no atom", f.Literal)
	}
	c.instance(rule, a.Args, f.Atom.Terms, b)
	if !c.model.Has(a.Predicate, values(*f.Atom)) || f.Atom.Predicate != c.program.Predicates[a.Predicate].Name {
		c.failf("%s is not true", f.Atom)
	}
	derived := c.program.Predicates[a.Predicate].Base == program.NotBase
	switch {
	case derived != (f.Derivation != nil || f.Cut != ""):
		c.failf("%s: derived %t, derivation %v, cut %q", f.Atom, derived, f.Derivation, f.Cut)
	case f.Derivation != nil:
		c.derivation(*f.Atom, f.Derivation)
	case strings.Contains(f.Cut, "above"):
		c.above = append(c.above, atomKey(*f.Atom))
	case f.Cut != "":
		c.cuts++
	}
}

// rank checks the rank of the candidate that is the atom of a finding.
func (c *checker) rank(rule *program.Rule, lit program.TopK, f explain.Finding, b sweeptest.Binding) {
	c.instance(rule, lit.Atom.Args, f.Atom.Terms, b)
	candidate := sweeptest.Binding{}
	for i, t := range lit.Atom.Args {
		if t.Form == program.Variable {
			candidate[t.Slot] = f.Atom.Terms[i].Value
		}
	}
	place, of := c.model.Rank(rule, lit, candidate)
	if f.Rank == nil || f.Rank.Place != uint64(place) || f.Rank.Of != uint64(of) || f.Rank.Limit != lit.K {
		c.failf("%s: rank %+v, want %d of %d", f.Literal, f.Rank, place, of)
	}
	partition := c.binding(rule, f.Rank.Partition)
	for _, s := range lit.Partition {
		if partition[s] != candidate[s] {
			c.failf("%s: partition %v", f.Literal, f.Rank.Partition)
		}
	}
}
