package sweeptest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// sort tells what values a variable or a column is likely to have, so that
// random joins meet. It is only a hint: records stand where texts do, and
// texts where records do.
type sort uint8

const (
	texts sort = iota
	recs
	local // of one counted atom
)

// The base predicates of a random module, by number.
const (
	haveID program.PredicateID = iota
	fieldID
	linkID
	containsID
	paramID
	firstHelper
)

// Policies are the texts of some modules and the parameters that they use.
type Policies struct {
	Modules []string
	Params  map[string]string
}

// String renders the policies for a failure message.
func (p Policies) String() string {
	var b strings.Builder
	for i, text := range p.Modules {
		fmt.Fprintf(&b, "%% module %d\n%s", i, text)
	}
	for _, name := range []string{"p", "q"} {
		fmt.Fprintf(&b, "%% param %s = %s\n", name, quote(p.Params[name]))
	}
	return b.String()
}

// RandomPolicies returns one module about roots like r, and sometimes more.
// All are safe and stratified.
func RandomPolicies(rng *rand.Rand, r *Root) Policies {
	p := Policies{Params: randomParams(rng, r)}
	n := 1
	for n < 3 && rng.IntN(8) == 0 {
		n++
	}
	for range n {
		p.Modules = append(p.Modules, randomModule(rng, r, true))
	}
	return p
}

// RandomProgram returns one such module, checked. cardinality says whether it
// may count.
func RandomProgram(rng *rand.Rand, r *Root, cardinality bool) *program.Program {
	text := randomModule(rng, r, cardinality)
	module, errs := syntax.Parse("random.lace", []byte(text))
	p, _, wrong := program.Lower(module, randomParams(rng, r))
	if err := append(errs, wrong...).Err(); err != nil {
		panic("sweeptest: " + err.Error() + "\n" + text)
	}
	return p
}

func randomParams(rng *rand.Rand, r *Root) map[string]string {
	return map[string]string{"p": pick(rng, textValues), "q": r.randomHash(rng)}
}

func randomModule(rng *rand.Rand, r *Root, cardinality bool) string {
	if rng.IntN(100) == 0 {
		return "SelectStoredRecord(R) :- true.\n"
	}
	g := &generator{rng: rng, root: r, cardinality: cardinality, asked: map[program.PredicateID]int{}}
	g.program.Predicates = []program.Predicate{{Name: "Have"}, {Name: "Field"}, {Name: "RecordLink"}, {Name: "ContainsRecord"}, {Name: "Param"}}
	for range rng.IntN(4) {
		g.stratum()
	}
	g.current = nil
	id := g.predicate("SelectStoredRecord", recs)
	for range 1 + g.rng.IntN(5) {
		g.randomRule(id)
	}
	g.rng.Shuffle(len(g.rules), func(i, j int) { g.rules[i], g.rules[j] = g.rules[j], g.rules[i] })
	return strings.Join(g.rules, "\n") + "\n"
}

// generator makes one module. Its program has only the names of predicates,
// and its rules are the text of the module.
type generator struct {
	rng         *rand.Rand
	root        *Root
	cardinality bool
	program     program.Program
	rules       []string
	sorts       [][]sort              // of the columns of each helper
	current     []program.PredicateID // helpers that rules may call, besides lower
	lower       []program.PredicateID // helpers of complete strata
	// asked has, for some helpers, the column at which every call from other
	// strata has a constant.
	asked map[program.PredicateID]int
}

func (g *generator) hash() string { return g.root.randomHash(g.rng) }

func (g *generator) one(in int) bool { return g.rng.IntN(in) == 0 }

func (g *generator) predicate(name string, sorts ...sort) program.PredicateID {
	id := program.PredicateID(len(g.program.Predicates))
	g.program.Predicates = append(g.program.Predicates, program.Predicate{Name: name})
	g.sorts = append(g.sorts, sorts)
	return id
}

func (g *generator) helper(sorts ...sort) program.PredicateID {
	id := g.predicate(fmt.Sprintf("h%d", len(g.sorts)), sorts...)
	g.current = append(g.current, id)
	return id
}

func (g *generator) columns(id program.PredicateID) []sort { return g.sorts[id-firstHelper] }

// stratum adds one or two helpers with their rules.
func (g *generator) stratum() {
	g.current = nil
	switch g.rng.IntN(10) {
	case 0:
		g.closure()
	case 1:
		g.transitive()
	case 2:
		g.alternating()
	case 3:
		g.labelled()
	default:
		for range 1 + g.rng.IntN(4)/3 {
			sorts := make([]sort, 1+g.rng.IntN(3))
			for i := range sorts {
				sorts[i] = sort(g.rng.IntN(2))
			}
			g.helper(sorts...)
		}
		for _, id := range g.current {
			g.seed(id)
			for range g.rng.IntN(4) {
				g.randomRule(id)
			}
		}
	}
	for _, id := range g.current {
		if g.one(4) {
			g.asked[id] = len(g.columns(id)) - 1
		}
	}
	g.lower = append(g.lower, g.current...)
}

// randomRule adds a rule: what binds first, what is left to be decided behind
// it, then all in random order.
func (g *generator) randomRule(id program.PredicateID) {
	b := &ruleMaker{generator: g}
	for range 1 + g.rng.IntN(6)/2 {
		b.positive()
	}
	if g.one(4) {
		b.equal()
	}
	var head []program.Term
	b.used = nil
	for _, s := range g.columns(id) {
		head = append(head, b.headTerm(s))
	}
	for range g.rng.IntN(5) / 2 {
		b.decide()
	}
	b.finish(id, head...)
}

// ruleMaker collects the literals of one rule.
type ruleMaker struct {
	*generator
	rule  program.Rule
	sorts []sort         // of the slots; all but local ones are bound
	used  []program.Slot // by the literal that is being made
}

func (b *ruleMaker) add(lit program.Literal) {
	b.rule.Body, b.used = append(b.rule.Body, lit), nil
}

func (b *ruleMaker) call(id program.PredicateID, args ...program.Term) {
	b.add(program.Positive{Atom: program.Atom{Predicate: id, Args: args}})
}

// finish gives the rule its head and puts its body in random order.
func (b *ruleMaker) finish(id program.PredicateID, head ...program.Term) {
	b.rule.Head = program.Atom{Predicate: id, Args: head}
	b.rng.Shuffle(len(b.rule.Body), func(i, j int) { b.rule.Body[i], b.rule.Body[j] = b.rule.Body[j], b.rule.Body[i] })
	b.rules = append(b.rules, RuleText(&b.program, &b.rule))
}

func (b *ruleMaker) fresh(s sort) program.Term {
	slot := program.Slot(len(b.rule.Slots))
	b.rule.Slots = append(b.rule.Slots, fmt.Sprintf("%c%d", "tRn"[s], slot))
	b.sorts, b.used = append(b.sorts, s), append(b.used, slot)
	return program.Term{Form: program.Variable, Slot: slot}
}

// bound returns a variable that the rule binds, mostly of the given sort and
// new to the literal at hand: nothing links to itself.
func (b *ruleMaker) bound(s sort) (program.Term, bool) {
	if len(b.sorts) == 0 {
		return program.Term{}, false
	}
	start := b.rng.IntN(len(b.sorts))
	for i := range b.sorts {
		slot := program.Slot((start + i) % len(b.sorts))
		if slices.Contains(b.used, slot) && !b.one(12) {
			continue
		}
		if b.sorts[slot] == s || b.sorts[slot] != local && b.one(30) {
			b.used = append(b.used, slot)
			return program.Term{Form: program.Variable, Slot: slot}, true
		}
	}
	return program.Term{}, false
}

func (b *ruleMaker) constant(s sort) program.Term {
	text := pick(b.rng, textValues)
	switch {
	case s == recs && !b.one(20):
		text = b.hash()
	case b.one(4):
		text = pick(b.rng, numbers)
	case b.one(12):
		text = pick(b.rng, slices.Concat(nearHashes(), linkData()))
	}
	return program.Term{Form: program.Constant, Text: text}
}
