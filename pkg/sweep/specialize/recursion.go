package specialize

import "github.com/lace-store/lace/pkg/policy/program"

// place is one argument of a predicate.
type place struct {
	predicate program.PredicateID
	position  int // zero-based
}

// carried has the places of recursive predicates that recursion passes on
// unchanged; every place of others does as well.
type carried struct {
	stratum map[program.PredicateID]int // of recursive predicates
	changed map[place]bool
}

func (c carried) has(id program.PredicateID, position int) bool {
	return !c.changed[place{id, position}]
}

// carriedPositions takes all places to be passed on, and finds those that are
// not until there are no more.
func carriedPositions(p *program.Program) carried {
	c := carried{stratum: map[program.PredicateID]int{}, changed: map[place]bool{}}
	for i, s := range p.Strata {
		for _, id := range s.Predicates {
			if s.Recursive {
				c.stratum[id] = i
			}
		}
	}
	for again := true; again; {
		again = false
		for i := range p.Rules {
			again = c.check(&p.Rules[i]) || again
		}
	}
	return c
}

// check finds what a rule changes, and reports whether that is news.
func (c carried) check(rule *program.Rule) (news bool) {
	head := rule.Head
	stratum, recursive := c.stratum[head.Predicate]
	if !recursive {
		return false
	}
	for _, lit := range rule.Body {
		call, ok := lit.(program.Positive)
		if !ok {
			continue
		}
		if s, same := c.stratum[call.Atom.Predicate]; !same || s != stratum {
			continue
		}
		for i, t := range head.Args {
			if c.has(head.Predicate, i) && !c.passes(call.Atom, t) {
				c.changed[place{head.Predicate, i}] = true
				news = true
			}
		}
	}
	return news
}

// passes reports whether a recursive call passes a term of the head on.
func (c carried) passes(call program.Atom, t program.Term) bool {
	for i, arg := range call.Args {
		if arg == t && c.has(call.Predicate, i) {
			return true
		}
	}
	return false
}
