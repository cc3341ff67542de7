// Package specialize pushes the constants of calls into helpers, program to
// program: where message(R,'lobby') is called, a clone of message derives its
// rows of 'lobby' alone. It must not know stores, windows or how rules are
// evaluated.
//
// A variant is a helper with constants fixed at some positions. What makes it
// exact is one invariant: its relation is the rows of the helper that have
// those constants there. Whoever asks for such rows only may read the variant
// in place of the helper:
//
//   - a positive or negated atom that has the constants at those positions, or
//     a variable that the rule has fixed to one;
//   - a counted atom likewise: what it counts are the rows that match it;
//   - the candidate of a TopK that has constants, which filter before the
//     ranking; a fixed variable only if it partitions, since then the other
//     partitions lose in the rule anyway. A fixed variable that is ranked, or
//     is neither, would filter before the ranking what the module filters
//     behind it: it is not pushed.
//
// A rule of the helper derives such rows when its head has the constants. A
// variable of the head is fixed, by a comparison behind the body, and in turn
// what the body calls with it; the literals of the module stay as they are, so
// that explanations show them. A head with another constant derives none: its
// body becomes the comparison of the two.
//
// Within recursion a position is fixed only if each recursive call passes the
// argument of the head on, at a position for which the same holds. Otherwise
// the rows of one constant depend on those of another.
//
// A helper that is needed for all constants too is not specialised at all, and
// its calls filter as before: a variant would only derive some of its rows a
// second time. The same goes for a helper with more than MaxVariants.
package specialize

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/strata"
)

// MaxVariants is how many variants of one helper there may be: each may cost
// as much as the helper itself.
const MaxVariants = 8

// maxRounds bounds the work on a module that is made to take long. A module
// that needs more is left as it is.
const maxRounds = 64

// Rewrite returns p with its constants pushed into helpers. Predicates of p
// keep their ids; variants have the ids behind them, the names of their
// helpers, and say whom they are cloned from. p is not changed; it is returned
// as it is when there is nothing to push.
func Rewrite(p *program.Program) *program.Program {
	if p.Select == program.NoPredicate {
		return p
	}
	rules := map[program.PredicateID][]*program.Rule{}
	for i := range p.Rules {
		head := p.Rules[i].Head.Predicate
		rules[head] = append(rules[head], &p.Rules[i])
	}
	carried := carriedPositions(p)
	whole := map[program.PredicateID]bool{}
	for range maxRounds {
		r := &rewriter{from: p, rules: rules, carried: carried, whole: whole, ids: map[string]program.PredicateID{}, variants: map[program.PredicateID]int{}}
		r.to = &program.Program{File: p.File, Predicates: slices.Clone(p.Predicates), Select: p.Select, Params: p.Params}
		if !r.run() {
			continue
		}
		if len(r.variants) == 0 {
			return p
		}
		r.to.Strata = strata.Of(r.to.Predicates, r.to.Rules, p.Select)
		r.to.Rules = strata.Rules(r.to.Rules, r.to.Strata)
		return r.to
	}
	return p
}

// variant is a helper with constants at some positions; what is not fixed is
// anonymous. Without any it is the helper itself.
type variant struct {
	of    program.PredicateID
	fixed []program.Term
	id    program.PredicateID
}

// rewriter makes the variants that are called, and theirs.
type rewriter struct {
	from     *program.Program
	to       *program.Program
	rules    map[program.PredicateID][]*program.Rule // of from
	carried  carried
	whole    map[program.PredicateID]bool // helpers that are not specialised
	ids      map[string]program.PredicateID
	variants map[program.PredicateID]int // of each helper
	todo     []variant
}

// run rewrites everything that is reached from the selection. It returns false
// when it finds helpers that are not to be specialised: they are whole from
// now on.
func (r *rewriter) run() bool {
	r.variant(r.from.Select, make([]program.Term, 1))
	needed := map[program.PredicateID]bool{}
	before := len(r.whole)
	for len(r.todo) > 0 {
		v := r.todo[0]
		r.todo = r.todo[1:]
		needed[v.of] = needed[v.of] || v.id == v.of
		if r.variants[v.of] > MaxVariants {
			r.whole[v.of] = true
			continue
		}
		for _, rule := range r.rules[v.of] {
			r.to.Rules = append(r.to.Rules, r.rule(*rule, v))
		}
	}
	for of := range r.variants {
		if needed[of] {
			r.whole[of] = true
		}
	}
	return len(r.whole) == before
}
