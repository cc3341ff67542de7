package sweeptest

import (
	"fmt"
	"math/rand/v2"
	"slices"

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
	local // of one negated or counted atom
)

// The base predicates of a random program, by number.
const (
	haveID program.PredicateID = iota
	fieldID
	linkID
	containsID
	paramID
	firstHelper
)

// RandomProgram returns a safe, stratified program about roots like r.
// cardinality says whether it may count.
func RandomProgram(rng *rand.Rand, r *Root, cardinality bool) *program.Program {
	g := &generator{rng: rng, root: r, cardinality: cardinality}
	g.program = &program.Program{
		File: "random.lace",
		Predicates: []program.Predicate{
			{Name: "Have", Arity: 1, Base: program.Have, ClonedFrom: program.NoPredicate},
			{Name: "Field", Arity: 4, Base: program.Field, ClonedFrom: program.NoPredicate},
			{Name: "RecordLink", Arity: 5, Base: program.RecordLink, ClonedFrom: program.NoPredicate},
			{Name: "ContainsRecord", Arity: 2, Base: program.ContainsRecord, ClonedFrom: program.NoPredicate},
			{Name: "Param", Arity: 2, Base: program.ParamBase, ClonedFrom: program.NoPredicate},
		},
		Params: []program.Param{{Name: "p", Value: "ab"}, {Name: "q", Value: g.hash()}},
	}
	for range rng.IntN(4) {
		g.stratum()
	}
	g.current = nil
	g.selection()
	return g.program
}

type generator struct {
	rng         *rand.Rand
	root        *Root
	program     *program.Program
	cardinality bool
	sorts       [][]sort // of the columns of each helper
	current     []program.PredicateID
	lower       []program.PredicateID // helpers of complete strata
}

func (g *generator) hash() string { return g.root.randomHash(g.rng) }

func (g *generator) one(in int) bool { return g.rng.IntN(in) == 0 }

// stratum adds one or two helpers with their rules.
func (g *generator) stratum() {
	g.current = nil
	for range 1 + g.rng.IntN(4)/3 {
		id := program.PredicateID(len(g.program.Predicates))
		sorts := make([]sort, 1+g.rng.IntN(3))
		for i := range sorts {
			sorts[i] = sort(g.rng.IntN(2))
		}
		g.sorts = append(g.sorts, sorts)
		g.program.Predicates = append(g.program.Predicates, program.Predicate{
			Name: fmt.Sprintf("h%d", id-firstHelper), Arity: len(sorts), ClonedFrom: program.NoPredicate,
		})
		g.current = append(g.current, id)
	}
	first := len(g.program.Rules)
	for _, id := range g.current {
		for range 1 + g.rng.IntN(4) {
			g.rule(id, g.sorts[id-firstHelper])
		}
	}
	g.program.Strata = append(g.program.Strata, g.components(g.program.Rules[first:])...)
	g.lower = append(g.lower, g.current...)
}

// components splits the stratum at hand if its helpers are not mutually
// recursive. There are at most two.
func (g *generator) components(rules []program.Rule) []program.Stratum {
	calls := map[[2]program.PredicateID]bool{}
	for _, r := range rules {
		for _, lit := range r.Body {
			if p, ok := lit.(program.Positive); ok {
				calls[[2]program.PredicateID{r.Head.Predicate, p.Atom.Predicate}] = true
			}
		}
	}
	single := func(id program.PredicateID) program.Stratum {
		return program.Stratum{Predicates: []program.PredicateID{id}, Recursive: calls[[2]program.PredicateID{id, id}]}
	}
	a, b := g.current[0], g.current[len(g.current)-1]
	switch {
	case a == b:
		return []program.Stratum{single(a)}
	case calls[[2]program.PredicateID{a, b}] && calls[[2]program.PredicateID{b, a}]:
		return []program.Stratum{{Predicates: []program.PredicateID{a, b}, Recursive: true}}
	case calls[[2]program.PredicateID{a, b}]:
		return []program.Stratum{single(b), single(a)}
	}
	return []program.Stratum{single(a), single(b)}
}

func (g *generator) selection() {
	id := program.PredicateID(len(g.program.Predicates))
	g.program.Predicates = append(g.program.Predicates, program.Predicate{Name: "SelectStoredRecord", Arity: 1, ClonedFrom: program.NoPredicate})
	g.program.Select = id
	for range 1 + g.rng.IntN(3) {
		g.rule(id, []sort{recs})
	}
	g.program.Strata = append(g.program.Strata, program.Stratum{Predicates: []program.PredicateID{id}})
	g.prune()
}

// prune leaves out what the selection does not depend on, as preparation does.
func (g *generator) prune() {
	needed := map[program.PredicateID]bool{g.program.Select: true}
	for again := true; again; {
		again = false
		for i := range g.program.Rules {
			if !needed[g.program.Rules[i].Head.Predicate] {
				continue
			}
			for _, id := range calls(g.program.Rules[i].Body) {
				again = again || !needed[id]
				needed[id] = true
			}
		}
	}
	g.program.Rules = slices.DeleteFunc(g.program.Rules, func(r program.Rule) bool { return !needed[r.Head.Predicate] })
	g.program.Strata = slices.DeleteFunc(g.program.Strata, func(s program.Stratum) bool { return !needed[s.Predicates[0]] })
}

func calls(body []program.Literal) []program.PredicateID {
	var ids []program.PredicateID
	for _, lit := range body {
		switch lit := lit.(type) {
		case program.Positive:
			ids = append(ids, lit.Atom.Predicate)
		case program.Negated:
			ids = append(ids, lit.Atom.Predicate)
		case program.TopK:
			ids = append(ids, lit.Atom.Predicate)
		case program.Cardinality:
			ids = append(ids, lit.Atom.Predicate)
		}
	}
	return ids
}

// rule adds one rule: positive literals first, what they leave to be decided
// behind them, then all in random order.
func (g *generator) rule(id program.PredicateID, head []sort) {
	b := &ruleMaker{generator: g, rule: program.Rule{Position: syntax.Position{File: "random.lace", Line: len(g.program.Rules) + 1, Column: 1}}}
	for range 1 + g.rng.IntN(6)/2 {
		b.positive()
	}
	if g.one(4) {
		b.equal()
	}
	b.rule.Head = program.Atom{Predicate: id}
	for _, s := range head {
		b.rule.Head.Args = append(b.rule.Head.Args, b.headTerm(s))
	}
	for range g.rng.IntN(5) / 2 {
		b.decide()
	}
	g.rng.Shuffle(len(b.rule.Body), func(i, j int) { b.rule.Body[i], b.rule.Body[j] = b.rule.Body[j], b.rule.Body[i] })
	b.rule.Text = RuleText(g.program, &b.rule)
	g.program.Rules = append(g.program.Rules, b.rule)
}
