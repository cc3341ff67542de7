package program

import "github.com/lace-store/lace/pkg/policy/syntax"

// warnTextOrder warns of lengths and indexes that are compared or ranked as
// text, in which '9' comes after '10'. Values are followed through helpers: a
// value counts when some rule takes it from there.
func (l *lowering) warnTextOrder() {
	n := newNumbers(l)
	for i, r := range l.rules {
		for _, lit := range r.Body {
			t, at, ordered := orderedAsText(lit)
			if ordered && (n.has(i, t[0]) || n.has(i, t[1])) {
				l.warn(CodeTextOrder, at, r.Text, "a length or an index is ordered as text, in which '9' comes after '10'",
					"write Number(...) around what is compared or ranked")
			}
		}
	}
}

// orderedAsText returns the terms that a literal orders bytewise.
func orderedAsText(lit Literal) (terms [2]Term, at syntax.Position, ok bool) {
	switch lit := lit.(type) {
	case Compare:
		ordered := lit.Operator != Equal && lit.Operator != NotEqual
		return [2]Term{lit.Left.Term, lit.Right.Term}, lit.Position, ordered && lit.Left.Form == PlainText
	case TopK:
		return [2]Term{lit.Order.Term}, lit.Position, lit.Order.Form == PlainText
	}
	return terms, at, false
}

// numbers knows the variables of rules that hold lengths and indexes.
type numbers struct {
	*lowering
	slots   [][]bool // by rule and slot
	readers map[PredicateID][]reading
	seen    map[place]bool
	todo    []place
}

// reading is an atom of which a rule needs a row.
type reading struct {
	rule int
	atom Atom
}

func newNumbers(l *lowering) *numbers {
	n := &numbers{lowering: l, slots: make([][]bool, len(l.rules)), readers: map[PredicateID][]reading{}, seen: map[place]bool{}}
	for i, r := range l.rules {
		n.slots[i] = make([]bool, len(r.Slots))
		for _, lit := range r.Body {
			if a, _, reads := positiveAtom(lit); reads {
				n.readers[a.Predicate] = append(n.readers[a.Predicate], reading{i, a})
			}
		}
	}
	for id, p := range l.predicates {
		for _, r := range n.readers[PredicateID(id)] {
			for _, at := range numberPlaces(p.Base, r.atom) {
				n.mark(r.rule, r.atom.Args[at])
			}
		}
	}
	for len(n.todo) > 0 {
		p := n.todo[len(n.todo)-1]
		n.todo = n.todo[:len(n.todo)-1]
		for _, r := range n.readers[p.predicate] {
			n.mark(r.rule, r.atom.Args[p.at])
		}
	}
	return n
}

// numberPlaces are the arguments of a base atom that hold numbers.
func numberPlaces(base Base, a Atom) []int {
	switch {
	case base == Field && a.Args[1].Form == Constant && a.Args[1].Text == lengthField:
		return []int{2, 3}
	case base == Field, base == RecordLink:
		return []int{2}
	}
	return nil
}

// mark notes a variable of a rule, and the places of its head that have it.
func (n *numbers) mark(rule int, t Term) {
	if t.Form != Variable || n.slots[rule][t.Slot] {
		return
	}
	n.slots[rule][t.Slot] = true
	head := n.rules[rule].Head
	for i, h := range head.Args {
		if p := (place{head.Predicate, i}); h == t && !n.seen[p] {
			n.seen[p] = true
			n.todo = append(n.todo, p)
		}
	}
}

func (n *numbers) has(rule int, t Term) bool { return t.Form == Variable && n.slots[rule][t.Slot] }
