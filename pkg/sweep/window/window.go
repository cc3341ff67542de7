// Package window rewrites one module for one window of record ids, program to
// program: the selecting rules, and a hygienic clone of every helper that they
// pass the selected record to, get two comparisons with the window's anchors
// (seed 000). It must not know stores, ids or how rules are evaluated.
package window

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/strata"
)

// Anchors are the typed hash texts of the records that bound a window (lo, hi]:
// After is the record of id lo, and empty when lo is zero; Through is the
// record of id hi, and empty when hi is the boundary of the sweep.
type Anchors struct{ After, Through string }

// Rewrite returns p restricted to a window. Predicates of p keep their ids;
// clones have the ids behind them and say whom they are cloned from. Rules
// that nothing depends on any more are left out. p is not changed; without
// anchors it is returned as it is.
//
// A helper that is needed for the whole root all the same (it is negated,
// counted, ranked, or called without the selected record) is not cloned: the
// windows share its relation, and a clone would derive a part of it again in
// each (ours; seed 000 derives it anew in each window and clones it too).
func Rewrite(p *program.Program, a Anchors) *program.Program {
	if a == (Anchors{}) || p.Select == program.NoPredicate {
		return p
	}
	cloned := rewrite(p, a, nil)
	whole := make([]bool, len(p.Predicates))
	for _, s := range cloned.Strata {
		for _, id := range s.Predicates {
			if int(id) < len(whole) {
				whole[id] = id != p.Select
			}
		}
	}
	return rewrite(p, a, whole)
}

// rewrite clones what the selected record is passed to, except what is derived
// for the whole root.
func rewrite(p *program.Program, a Anchors, whole []bool) *program.Program {
	w := &rewriter{
		anchors: a, from: p, whole: whole, clones: map[clone]program.PredicateID{},
		to: &program.Program{File: p.File, Predicates: slices.Clone(p.Predicates), Select: p.Select, Params: p.Params},
	}
	for _, rule := range p.Rules {
		if rule.Head.Predicate == p.Select {
			w.rules = append(w.rules, w.restrict(rule, 0, p.Select))
		}
	}
	for len(w.todo) > 0 {
		c := w.todo[0]
		w.todo = w.todo[1:]
		for _, rule := range p.Rules {
			if rule.Head.Predicate == c.of {
				w.rules = append(w.rules, w.restrict(rule, c.position, w.clones[c]))
			}
		}
	}
	w.finish()
	return w.to
}

// clone is a helper restricted to the window by one of its arguments.
type clone struct {
	of       program.PredicateID
	position int // zero-based
}

type rewriter struct {
	anchors Anchors
	from    *program.Program
	to      *program.Program
	whole   []bool         // predicates of from that are derived whole
	rules   []program.Rule // the selecting ones and those of clones
	clones  map[clone]program.PredicateID
	todo    []clone
}

// restrict returns a rule of predicate head whose term at a position of the
// head is in the window. Slots keep their numbers: a rule has its own.
func (w *rewriter) restrict(rule program.Rule, position int, head program.PredicateID) program.Rule {
	term := rule.Head.Args[position]
	rule.Head.Predicate = head
	body := make([]program.Literal, 0, len(rule.Body)+2)
	for _, lit := range rule.Body {
		if call, ok := lit.(program.Positive); ok {
			call.Atom.Predicate = w.redirect(call.Atom, term)
			lit = call
		}
		body = append(body, lit)
	}
	admitted := func(t program.Term) program.Operand {
		return program.Operand{Form: program.AdmitOrder, Term: t}
	}
	anchor := func(hash string) program.Operand {
		return admitted(program.Term{Form: program.Constant, Text: hash})
	}
	if w.anchors.After != "" {
		body = append(body, program.Compare{Operator: program.Greater, Left: admitted(term), Right: anchor(w.anchors.After), Position: rule.Position})
	}
	if w.anchors.Through != "" {
		body = append(body, program.Compare{Operator: program.GreaterOrEqual, Left: anchor(w.anchors.Through), Right: admitted(term), Position: rule.Position})
	}
	rule.Body = body
	return rule
}

// redirect returns the clone to call in place of a helper that is passed the
// windowed term, at the first position that passes it. A clone equals its
// helper within the window, which the caller's own comparisons ensure.
func (w *rewriter) redirect(call program.Atom, term program.Term) program.PredicateID {
	id := call.Predicate
	position := slices.Index(call.Args, term)
	if w.from.Predicates[id].Base != program.NotBase || position < 0 || w.whole != nil && w.whole[id] {
		return id
	}
	c := clone{id, position}
	to, known := w.clones[c]
	if !known {
		to = program.PredicateID(len(w.to.Predicates))
		original := w.from.Predicates[id]
		w.to.Predicates = append(w.to.Predicates, program.Predicate{
			Name: fmt.Sprintf("%s (window on argument %d)", original.Name, position+1), Arity: original.Arity, ClonedFrom: id, Windowed: true,
		})
		w.clones[c] = to
		w.todo = append(w.todo, c)
	}
	return to
}

// finish adds the originals that are still called, and the strata.
func (w *rewriter) finish() {
	all := slices.Clone(w.rules)
	for _, rule := range w.from.Rules {
		if rule.Head.Predicate != w.from.Select {
			all = append(all, rule)
		}
	}
	w.to.Strata = strata.Of(w.to.Predicates, all, w.to.Select)
	w.to.Rules = strata.Rules(all, w.to.Strata)
}
