package program

import (
	"fmt"
	"sort"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// Lower checks a parsed module and brings it into the intermediate form. The
// program is nil when there are errors; all of them are in the sorted list.
// Params are the values of Param, by name.
func Lower(m syntax.Module, params map[string]string) (p *Program, warnings, errs syntax.List) {
	l := newLowering(m.File, params)
	l.declare(m)
	for _, r := range m.Rules {
		if classify(r.Head.Name) != exchangeName {
			l.rule(r)
		}
	}
	l.reportUnknown()
	order := l.graph.components(len(l.predicates))
	l.checkStrata(order)
	needed := l.graph.reachable(l.byName[SelectFacet], everyEdge)
	l.checkAuthority(needed)
	l.checkUnused(needed)
	if len(l.errs) > 0 {
		l.errs.Sort()
		return nil, nil, l.errs.Limited()
	}
	l.warnNever()
	l.warnTextOrder()
	prog := l.program(order, needed)
	l.warnEvidence(prog)
	l.warnings.Sort()
	return prog, l.warnings.Limited(), nil
}

// lowering is the state of one Lower.
type lowering struct {
	file       string
	params     map[string]string
	predicates []Predicate
	// byName has every predicate that is called or defined. SelectFacet is
	// NoPredicate until a rule has it as its head.
	byName map[string]PredicateID
	// heads has the first rule of each derived predicate.
	heads map[PredicateID]syntax.Position
	// called has the first call of each predicate that no rule defines.
	called []syntax.Call
	// exchange are the names that the facets of exchange read.
	exchange []string
	// partial says that some statements could not be read.
	partial bool
	rules   []Rule
	graph   graph
	// never has the rules that can never match.
	never    map[syntax.Position]bool
	warnings syntax.List
	errs     syntax.List
}

func newLowering(file string, params map[string]string) *lowering {
	l := &lowering{
		file: file, params: params, predicates: reservedPredicates(),
		byName: map[string]PredicateID{SelectFacet: NoPredicate}, heads: map[PredicateID]syntax.Position{},
		never: map[syntax.Position]bool{},
	}
	for i, p := range l.predicates {
		l.byName[p.Name] = PredicateID(i)
	}
	return l
}

func (l *lowering) fail(code syntax.Code, at syntax.Position, text, why, mend string) {
	l.errs = append(l.errs, syntax.Diagnostic{Code: code, Position: at, Text: text, Why: why, Mend: mend})
}

func (l *lowering) warn(code syntax.Code, at syntax.Position, text, why, mend string) {
	l.warnings = append(l.warnings, syntax.Diagnostic{Code: code, Position: at, Text: text, Why: why, Mend: mend})
}

// anyArity is the arity of a predicate of which only the name could be read.
const anyArity = -1

// declare makes the predicates that rules define, before any body is read: a
// call is then checked against the head and not the other way round.
func (l *lowering) declare(m syntax.Module) {
	l.partial = len(m.Broken) > 0
	for _, name := range m.Broken {
		if classify(name) == helperName {
			l.define(syntax.Call{Name: name}, anyArity)
		}
	}
	for _, r := range m.Rules {
		switch h := r.Head; classify(h.Name) {
		case exchangeName:
			l.noteExchange(r)
		case baseName, authorityName, builtinName:
			l.fail(CodeReserved, h.Position, h.Name, "a built-in name cannot be the head of a rule", "give the helper another name")
		case selectName:
			l.define(h, 1)
		case helperName:
			l.define(h, len(h.Args))
		}
	}
}

func (l *lowering) define(head syntax.Call, arity int) {
	if id, known := l.byName[head.Name]; known && id != NoPredicate {
		return
	}
	id := l.add(head.Name, arity)
	l.heads[id] = head.Position
}

func (l *lowering) add(name string, arity int) PredicateID {
	id := PredicateID(len(l.predicates))
	l.predicates = append(l.predicates, Predicate{Name: name, Arity: arity, ClonedFrom: NoPredicate})
	l.byName[name] = id
	return id
}

// noteExchange remembers what an ignored rule reads, so that its helpers do
// not count as unused. The rule itself is not checked.
func (l *lowering) noteExchange(r syntax.Rule) {
	for _, lit := range r.Body {
		l.exchange = append(l.exchange, lit.Call.Name)
		for _, a := range lit.Call.Args {
			if a.Form == syntax.Nested {
				l.exchange = append(l.exchange, a.Call.Name)
			}
		}
	}
}

// predicate finds what a call means and checks its arity. A predicate that no
// rule defines is noted, and reported at the end.
func (l *lowering) predicate(c syntax.Call) (PredicateID, bool) {
	id, known := l.byName[c.Name]
	if !known {
		l.called = append(l.called, c)
		return l.add(c.Name, anyArity), l.checkArity(c, anyArity)
	}
	return id, l.checkArity(c, l.predicates[id].Arity)
}

func (l *lowering) checkArity(c syntax.Call, arity int) bool {
	if arity == anyArity || arity == len(c.Args) {
		return true
	}
	mend := fmt.Sprintf("it takes %d", arity)
	if from, own := l.heads[l.byName[c.Name]]; own && classify(c.Name) == helperName {
		mend += " in its first rule at " + from.String()
	}
	if form := baseForm(c.Name); form != "" {
		mend += ": " + form
	}
	l.fail(CodeArity, c.Position, c.Name, "predicate with "+arguments(len(c.Args)), mend)
	return false
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// rule lowers one statement; what is wrong with it is collected.
func (l *lowering) rule(r syntax.Rule) {
	b := &body{lowering: l, slots: map[string]Slot{}, assumed: map[Slot]bool{}}
	b.rule = Rule{Position: r.Position, Text: syntax.PrintRule(r)}
	headGood := b.head(r.Head)
	if r.IsFact && r.Head.Name == SelectFacet && headGood {
		b.openFact()
	}
	for _, lit := range r.Body {
		b.literal(lit)
	}
	b.checkSafety(headGood)
	if !headGood {
		return
	}
	for _, e := range b.edges {
		e.head = b.rule.Head.Predicate
		l.graph.add(e)
	}
	l.rules = append(l.rules, b.rule)
}

// program keeps what the selection depends on, in stratum order.
func (l *lowering) program(order [][]PredicateID, needed map[PredicateID]bool) *Program {
	p := &Program{File: l.file, Predicates: l.predicates, Select: l.byName[SelectFacet]}
	for name, value := range l.params {
		p.Params = append(p.Params, Param{name, value})
	}
	sort.Slice(p.Params, func(i, j int) bool { return p.Params[i].Name < p.Params[j].Name })
	for _, r := range l.rules {
		if needed[r.Head.Predicate] {
			p.Rules = append(p.Rules, r)
		}
	}
	for _, group := range order {
		if first := group[0]; needed[first] && l.predicates[first].Base == NotBase {
			recursive := len(group) > 1 || l.graph.readsItself(first)
			p.Strata = append(p.Strata, Stratum{Predicates: group, Recursive: recursive})
		}
	}
	return p
}
