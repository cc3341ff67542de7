package program

import "slices"

// isMatched reports whether some rule selects the value on conditions that all
// stand in the rule at hand too.
func (e *evidence) isMatched(r Rule, value Term) bool {
	for _, s := range e.selecting {
		if e.steps -= len(s.Slots) + 1; e.steps < 0 {
			return true
		}
		m := matching{evidence: e, body: r.Body, values: make([]Term, len(s.Slots)), bound: make([]bool, len(s.Slots))}
		m.bind(s.Head.Args[0].Slot, value)
		if m.match(s.Body) {
			return true
		}
	}
	return e.steps < 0
}

// matching maps the variables of a select rule onto the values of another.
type matching struct {
	*evidence
	body   []Literal
	values []Term
	bound  []bool
}

func (m *matching) bind(s Slot, t Term) { m.values[s], m.bound[s] = t, true }

// match finds an atom of the body for each literal, one after the other.
func (m *matching) match(literals []Literal) bool {
	if len(literals) == 0 {
		return true
	}
	want := literals[0].(Positive).Atom
	for _, l := range m.body {
		if m.steps--; m.steps < 0 {
			return false
		}
		p, ok := l.(Positive)
		if !ok || p.Atom.Predicate != want.Predicate {
			continue
		}
		before := slices.Clone(m.bound)
		if m.matchAtom(want, p.Atom) && m.match(literals[1:]) {
			return true
		}
		m.bound = before
	}
	return false
}

func (m *matching) matchAtom(want, have Atom) bool {
	for i, w := range want.Args {
		h := have.Args[i]
		switch {
		case w.Form == Anonymous:
		case w.Form == Constant:
			if w != h {
				return false
			}
		case !m.bound[w.Slot]:
			m.bind(w.Slot, h)
		case m.values[w.Slot] != h || h.Form == Anonymous:
			return false
		}
	}
	return true
}
