package program

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// Lower checks a parsed module and brings it into the intermediate form. The
// program is nil when there are errors; all of them are in the list.
func Lower(m syntax.Module, params map[string]string) (p *Program, warnings, errs syntax.List) {
	l := newLowering(m, params)
	for _, r := range m.Rules {
		l.rule(r)
	}
	l.unknown()
	order := l.stratify()
	l.authorityPath()
	l.errs.Sort()
	if len(l.errs) > 0 {
		return nil, nil, l.errs
	}
	prog := l.program(order)
	l.warnings.Sort()
	return prog, l.warnings, nil
}

// lowering is the state of one Lower.
type lowering struct {
	file       string
	params     map[string]string
	predicates []Predicate
	byName     map[string]PredicateID
	firstUse   map[PredicateID]syntax.Position
	defined    map[PredicateID]bool
	arityFrom  map[PredicateID]syntax.Position
	authority  map[string]int
	rules      []Rule
	edges      []edge
	warnings   syntax.List
	errs       syntax.List
}

// edge says that the rule of head reads body, through a literal that needs it
// complete when strict.
type edge struct {
	head, body PredicateID
	strict     bool
	position   syntax.Position
}

func newLowering(m syntax.Module, params map[string]string) *lowering {
	l := &lowering{
		file: m.File, params: params, predicates: basePredicates(), authority: authority(),
		byName: map[string]PredicateID{}, firstUse: map[PredicateID]syntax.Position{},
		defined: map[PredicateID]bool{}, arityFrom: map[PredicateID]syntax.Position{},
	}
	for i, p := range l.predicates {
		l.byName[p.Name] = PredicateID(i)
	}
	return l
}

func (l *lowering) errorf(code syntax.Code, at syntax.Position, text, mend, why string, args ...any) {
	l.errs = append(l.errs, syntax.Diagnostic{Code: code, Position: at, Text: text, Why: fmt.Sprintf(why, args...), Mend: mend})
}

// predicate returns the id of a predicate by name, and checks its arity.
func (l *lowering) predicate(c syntax.Call) (PredicateID, bool) {
	id, known := l.byName[c.Name]
	if !known {
		id = PredicateID(len(l.predicates))
		l.predicates = append(l.predicates, Predicate{Name: c.Name, Arity: len(c.Args), ClonedFrom: NoPredicate})
		l.byName[c.Name] = id
		l.arityFrom[id] = c.Position
		if n, isAuthority := l.authority[c.Name]; isAuthority {
			l.predicates[id].Arity = n
		}
	}
	if _, used := l.firstUse[id]; !used {
		l.firstUse[id] = c.Position
	}
	p := l.predicates[id]
	if len(c.Args) > MaxArity {
		l.errorf(CodeArity, c.Position, c.Name, fmt.Sprintf("at most %d are allowed", MaxArity), "%d arguments", len(c.Args))
		return id, false
	}
	if p.Arity != len(c.Args) {
		mend := fmt.Sprintf("%s takes %d", c.Name, p.Arity)
		if from, own := l.arityFrom[id]; own && from != c.Position && from.File != "" {
			mend += " at " + from.String()
		}
		l.errorf(CodeArity, c.Position, c.Name, mend, "%d arguments", len(c.Args))
		return id, false
	}
	return id, true
}

// rule lowers one statement; what is wrong with it is collected.
func (l *lowering) rule(r syntax.Rule) {
	if slices.Contains(ignoredFacets(), r.Head.Name) {
		return
	}
	if !l.checkHead(r.Head) {
		return
	}
	b := &body{lowering: l, slots: map[string]Slot{}}
	b.rule = Rule{Position: r.Position, Text: syntax.PrintRule(r)}
	id, ok := l.predicate(r.Head)
	if ok {
		l.defined[id] = true
		b.rule.Head = Atom{Predicate: id}
		for _, a := range r.Head.Args {
			b.rule.Head.Args = append(b.rule.Head.Args, b.headTerm(a))
		}
	}
	before := len(l.errs)
	if r.IsFact && r.Head.Name == SelectFacet && ok {
		b.openFact()
	}
	for _, lit := range r.Body {
		b.literal(lit)
	}
	if len(l.errs) == before && ok {
		b.checkSafety()
	}
	for _, e := range b.edges {
		e.head = id
		l.edges = append(l.edges, e)
	}
	l.rules = append(l.rules, b.rule)
}

func (l *lowering) checkHead(h syntax.Call) bool {
	_, isAuthority := l.authority[h.Name]
	base, known := l.byName[h.Name]
	switch {
	case isAuthority || slices.Contains(builtins(), h.Name) || known && l.predicates[base].Base != NotBase:
		l.errorf(CodeReserved, h.Position, h.Name, "give the helper another name", "the name is built in and cannot be the head of a rule")
		return false
	case h.Name == SelectFacet && len(h.Args) != 1:
		l.errorf(CodeArity, h.Position, h.Name, "write "+SelectFacet+"(R)", "%d arguments", len(h.Args))
		return false
	}
	return true
}

// unknown reports predicates that are called but have no rule.
func (l *lowering) unknown() {
	for i, p := range l.predicates {
		id := PredicateID(i)
		_, isAuthority := l.authority[p.Name]
		if p.Base != NotBase || l.defined[id] || isAuthority {
			continue
		}
		mend := "define it by a rule"
		if near := l.nearest(p.Name); near != "" {
			mend = "did you mean " + near + "?"
		}
		l.errorf(CodeUnknown, l.firstUse[id], p.Name, mend, "no rule defines this predicate")
	}
}

// nearest returns the known name that a misspelt one is closest to.
func (l *lowering) nearest(name string) string {
	candidates := builtins()
	for i, p := range l.predicates {
		if p.Base != NotBase || l.defined[PredicateID(i)] {
			candidates = append(candidates, p.Name)
		}
	}
	sort.Strings(candidates)
	best, distance := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		if d < distance {
			best, distance = c, d
		}
	}
	return best
}

// program keeps what the selection depends on, in stratum order.
func (l *lowering) program(order [][]PredicateID) *Program {
	p := &Program{File: l.file, Predicates: l.predicates, Select: NoPredicate}
	for name, value := range l.params {
		p.Params = append(p.Params, Param{name, value})
	}
	sort.Slice(p.Params, func(i, j int) bool { return p.Params[i].Name < p.Params[j].Name })
	if id, ok := l.byName[SelectFacet]; ok {
		p.Select = id
	}
	needed := l.reachable(p.Select)
	for _, r := range l.rules {
		if needed[r.Head.Predicate] {
			p.Rules = append(p.Rules, r)
		}
	}
	self := map[PredicateID]bool{}
	for _, e := range l.edges {
		self[e.head] = self[e.head] || e.head == e.body
	}
	for _, group := range order {
		if needed[group[0]] {
			p.Strata = append(p.Strata, Stratum{Predicates: group, Recursive: len(group) > 1 || self[group[0]]})
		}
	}
	l.warnUnused(needed)
	return p
}

func (l *lowering) reachable(from PredicateID) map[PredicateID]bool {
	needed := map[PredicateID]bool{}
	if from == NoPredicate {
		return needed
	}
	reads := map[PredicateID][]PredicateID{}
	for _, e := range l.edges {
		reads[e.head] = append(reads[e.head], e.body)
	}
	for todo := []PredicateID{from}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !needed[id] {
			needed[id] = true
			todo = append(todo, reads[id]...)
		}
	}
	return needed
}

func (l *lowering) warnUnused(needed map[PredicateID]bool) {
	said := map[PredicateID]bool{}
	for _, r := range l.rules {
		id := r.Head.Predicate
		if !needed[id] && !said[id] {
			said[id] = true
			l.warnings = append(l.warnings, syntax.Diagnostic{
				Code: CodeUnused, Position: r.Position, Text: l.predicates[id].Name,
				Why: "no selection depends on this helper", Mend: "use it or remove it",
			})
		}
	}
}
