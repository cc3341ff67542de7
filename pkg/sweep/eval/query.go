package eval

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// searchQuery is what a group asks a store for while its owner is unknown: the
// constraints of its atoms, some of which wait for the text of a slot, and the
// range of the owner.
type searchQuery struct {
	constraints []waitingConstraint
	slots       []int // the slots that constraints wait for, each once
	lo, hi      store.Position
}

// waitingConstraint is a constraint whose name or value may be the text of a
// slot; -1 says that it is there already.
type waitingConstraint struct {
	store.Constraint
	nameSlot, valueSlot int
}

// queryMaker collects the constraints of one group.
type queryMaker struct {
	searchQuery
	e        *Evaluator
	before   slotSet
	prefixes []program.Prefix
}

// searchQuery derives the query of a group. Slots in before count as known.
func (e *Evaluator) searchQuery(item *groupItem, before slotSet) searchQuery {
	m := &queryMaker{e: e, before: before, prefixes: item.prefixes}
	m.lo, m.hi = item.lo, item.hi
	for _, a := range item.atoms {
		switch e.program.Predicates[a.Predicate].Base {
		case program.Field:
			m.field(a.Args[1], a.Args[3])
		case program.RecordLink:
			m.link(a.Args[1], a.Args[3], a.Args[4])
		}
	}
	m.constraints = slices.DeleteFunc(m.constraints, m.implied)
	for _, c := range m.constraints {
		for _, slot := range []int{c.nameSlot, c.valueSlot} {
			if slot >= 0 && !slices.Contains(m.slots, slot) {
				m.slots = append(m.slots, slot)
			}
		}
	}
	return m.searchQuery
}

// known returns the text of a constant, or the slot that holds it.
func (m *queryMaker) known(t program.Term) (text string, slot int, ok bool) {
	switch {
	case t.Form == program.Constant:
		return t.Text, -1, true
	case t.Form == program.Variable && m.before[t.Slot]:
		return "", int(t.Slot), true
	}
	return "", -1, false
}

func (m *queryMaker) field(name, value program.Term) {
	nameText, nameSlot, ok := m.known(name)
	if !ok {
		return
	}
	if text, slot, ok := m.known(value); ok {
		m.add(store.FieldExact, nameText, nameSlot, text, slot)
		return
	}
	for _, p := range m.prefixes {
		if sameTerm(p.Term, value) {
			m.add(store.FieldPrefix, nameText, nameSlot, p.Start, -1)
			return
		}
	}
	m.add(store.FieldPresence, nameText, nameSlot, "", -1)
}

func (m *queryMaker) link(name, data, target program.Term) {
	if text, slot, ok := m.known(target); ok {
		m.add(store.LinkTarget, "", -1, text, slot)
	}
	nameText, nameSlot, ok := m.known(name)
	if !ok {
		return
	}
	if text, slot, ok := m.known(data); ok {
		m.add(store.LinkNameData, nameText, nameSlot, text, slot)
		return
	}
	m.add(store.LinkName, nameText, nameSlot, "", -1)
}

func (m *queryMaker) add(shape store.Shape, name string, nameSlot int, value string, valueSlot int) {
	c := waitingConstraint{store.Constraint{Shape: shape, Name: name, Value: value}, nameSlot, valueSlot}
	if !slices.Contains(m.constraints, c) {
		m.constraints = append(m.constraints, c)
	}
}

// implied reports whether a constraint says only that a name exists, which
// another one on the same name says too.
func (m *queryMaker) implied(c waitingConstraint) bool {
	return slices.ContainsFunc(m.constraints, func(other waitingConstraint) bool {
		if other == c || other.Name != c.Name || other.nameSlot != c.nameSlot {
			return false
		}
		switch c.Shape {
		case store.FieldPresence:
			return other.Shape == store.FieldExact || other.Shape == store.FieldPrefix
		case store.LinkName:
			return other.Shape == store.LinkNameData
		}
		return false
	})
}

// bind returns the query with the texts of its slots filled in. It is false
// when nothing can match, since a link target is always a typed hash.
func (q *searchQuery) bind(text func(slot int) []byte) (store.Query, bool) {
	out := store.Query{Constraints: make([]store.Constraint, len(q.constraints))}
	for i, c := range q.constraints {
		if c.nameSlot >= 0 {
			c.Name = string(text(c.nameSlot))
		}
		if c.valueSlot >= 0 {
			c.Value = string(text(c.valueSlot))
		}
		if c.Shape == store.LinkTarget && !record.IsHash([]byte(c.Value)) {
			return store.Query{}, false
		}
		out.Constraints[i] = c.Constraint
	}
	return out, true
}
