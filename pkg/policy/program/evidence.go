package program

import "github.com/lace-store/lace/pkg/policy/syntax"

// warnEvidence warns of records that a policy needs in order to select others,
// and does not select: they are removed, and with them, at the next
// compaction, what depends on them (seed 000). Only what is needed to be there
// counts, not what is negated or counted.
//
// The analysis follows values through the rules. It does not weigh conditions
// that are not spelt alike, so it can warn where another rule happens to
// select the evidence; that is why it is a warning.
func (l *lowering) warnEvidence(p *Program) {
	if p.Select == NoPredicate {
		return
	}
	e := newEvidence(l, p)
	if e.whole[place{l.byName["Have"], 0}] {
		return // everything is selected
	}
	for i, r := range p.Rules {
		if !e.needed[r.Head.Predicate] || l.never[r.Position] {
			continue
		}
		if at, found := e.unselected(i); found {
			l.warn(CodeUnselected, at, r.Text, "the policy needs a record here that it does not select",
				"select it too: once it is removed, the next compaction may remove what depended on it")
		}
	}
}

// place is one argument of a predicate, zero-based.
type place struct {
	predicate PredicateID
	at        int
}

// evidence is what is known of the places of a program.
type evidence struct {
	*lowering
	program *Program
	// needed are the predicates that the selection reads in plain or ranked
	// atoms.
	needed map[PredicateID]bool
	// whole has the places of which every value is selected.
	whole map[place]bool
	// lost has the places of helpers whose values some reader does not select.
	lost map[place]bool
	// byHead indexes program.Rules.
	byHead map[PredicateID][]int
	// selecting are the short rules of SelectStoredRecord made of plain atoms
	// alone, and constants the hashes that are selected without conditions.
	selecting []Rule
	constants map[string]bool
	// slots caches, by rule and slot, what isSelected found out.
	slots [][]answer
	// steps bounds the comparisons of rules with each other.
	steps int
}

// answer is a cached yes or no.
type answer uint8

const (
	unasked answer = iota
	yes
	no
)

// maxSelecting bounds the literals of a select rule that is matched against
// other rules.
const maxSelecting = 8

// maxMatchSteps bounds the search for select rules that cover evidence. Beyond
// it evidence counts as selected: a warning too few, not one too many.
const maxMatchSteps = 1 << 20

func newEvidence(l *lowering, p *Program) *evidence {
	e := &evidence{
		lowering: l, program: p, whole: map[place]bool{}, lost: map[place]bool{},
		byHead: map[PredicateID][]int{}, constants: map[string]bool{}, steps: maxMatchSteps,
	}
	e.needed = l.graph.reachable(p.Select, func(e edge) bool { return !e.strict || e.ranked })
	for i, r := range p.Rules {
		e.byHead[r.Head.Predicate] = append(e.byHead[r.Head.Predicate], i)
		if r.Head.Predicate == p.Select {
			e.noteSelecting(r)
		}
	}
	e.findWhole()
	e.markWhole()
	e.findLost()
	return e
}

func (e *evidence) noteSelecting(r Rule) {
	value := r.Head.Args[0]
	switch {
	case value.Form == Constant && len(r.Body) == 0:
		e.constants[value.Text] = true
	case value.Form == Variable && len(r.Body) <= maxSelecting && onlyPositive(r):
		e.selecting = append(e.selecting, r)
	}
}

func onlyPositive(r Rule) bool {
	for _, l := range r.Body {
		if _, ok := l.(Positive); !ok {
			return false
		}
	}
	return true
}

// findWhole follows rules that pass on all rows of the one atom they read.
func (e *evidence) findWhole() {
	start := place{e.program.Select, 0}
	e.whole[start] = true
	for todo := []place{start}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range e.byHead[p.predicate] {
			r := e.program.Rules[i]
			source, ok := unfiltered(r, r.Head.Args[p.at])
			if ok && !e.whole[source] {
				e.whole[source] = true
				todo = append(todo, source)
			}
		}
	}
}

// unfiltered returns where a rule takes a value of its head from, if the body
// is one atom without constants and repeated variables.
func unfiltered(r Rule, value Term) (place, bool) {
	if len(r.Body) != 1 || value.Form != Variable {
		return place{}, false
	}
	p, ok := r.Body[0].(Positive)
	if !ok {
		return place{}, false
	}
	found, seen := -1, map[Slot]bool{}
	for i, t := range p.Atom.Args {
		if t.Form == Constant || t.Form == Variable && seen[t.Slot] {
			return place{}, false
		}
		if t.Form == Variable {
			seen[t.Slot] = true
			if t == value {
				found = i
			}
		}
	}
	return place{p.Atom.Predicate, found}, found >= 0
}

// markWhole notes the variables that stand at a place selected as a whole.
func (e *evidence) markWhole() {
	e.slots = make([][]answer, len(e.program.Rules))
	for i, r := range e.program.Rules {
		e.slots[i] = make([]answer, len(r.Slots))
		for _, l := range r.Body {
			a, _, reads := positiveAtom(l)
			for j, t := range a.Args {
				if reads && t.Form == Variable && e.whole[place{a.Predicate, j}] {
					e.slots[i][t.Slot] = yes
				}
			}
		}
	}
}

// findLost starts from the places that a reader fills with something it does
// not select, and follows them down the rules.
func (e *evidence) findLost() {
	var todo []place
	lose := func(rule int) {
		for _, p := range e.unselectedPlaces(rule) {
			if !e.lost[p] {
				e.lost[p] = true
				todo = append(todo, p)
			}
		}
	}
	for i, r := range e.program.Rules {
		if e.needed[r.Head.Predicate] {
			lose(i)
		}
	}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range e.byHead[p.predicate] {
			lose(i)
		}
	}
}

// unselectedPlaces lists the places of helpers that a rule reads with a value
// it does not know to be selected.
func (e *evidence) unselectedPlaces(rule int) []place {
	var places []place
	for _, l := range e.program.Rules[rule].Body {
		a, _, reads := positiveAtom(l)
		if !reads || !e.isDerived(a.Predicate) {
			continue
		}
		for i, t := range a.Args {
			if p := (place{a.Predicate, i}); !e.lost[p] && !e.isSelected(rule, t) {
				places = append(places, p)
			}
		}
	}
	return places
}

// isSelected reports whether a value of a rule is selected whenever the rule
// serves the selection: because the head hands it on, because it stands at a
// place that is selected as a whole, or because another rule selects it on the
// same conditions.
func (e *evidence) isSelected(rule int, t Term) bool {
	if t.Form == Anonymous {
		return false
	}
	r := e.program.Rules[rule]
	for i, h := range r.Head.Args {
		if h == t && !e.lost[place{r.Head.Predicate, i}] {
			return true
		}
	}
	if t.Form == Constant {
		return e.constants[t.Text] || e.isMatched(r, t)
	}
	known := &e.slots[rule][t.Slot]
	if *known == unasked {
		*known = no
		if e.isMatched(r, t) {
			*known = yes
		}
	}
	return *known == yes
}

// unselected returns the first record literal of a rule whose owner is not
// selected.
func (e *evidence) unselected(rule int) (syntax.Position, bool) {
	for _, l := range e.program.Rules[rule].Body {
		a, at, reads := positiveAtom(l)
		base := e.predicates[a.Predicate].Base
		if !reads || base == NotBase || base == ParamBase || e.whole[place{a.Predicate, 0}] {
			continue
		}
		if !e.isSelected(rule, a.Args[0]) {
			return at, true
		}
	}
	return syntax.Position{}, false
}
