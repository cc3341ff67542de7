package eval

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// Matches calls visit with every tuple of an atom that agrees with what is
// given, until it returns false. A tuple may come more than once; it is valid
// only during the call.
func (q *Inquiry) Matches(rule *program.Rule, a program.Atom, given Binding, visit func(tuple []Value) (bool, error)) error {
	// Anonymous variables get a slot each, so that the answer has their values.
	named := &program.Rule{Head: rule.Head, Slots: slices.Clone(rule.Slots), Position: rule.Position, Text: rule.Text}
	a.Args = slices.Clone(a.Args)
	var want []program.Slot
	for i, t := range a.Args {
		if t.Form == program.Anonymous {
			t = program.Term{Form: program.Variable, Slot: program.Slot(len(named.Slots))}
			named.Slots = append(named.Slots, "_")
			a.Args[i] = t
		}
		if t.Form == program.Variable && !slices.Contains(want, t.Slot) {
			want = append(want, t.Slot)
		}
	}
	tuple := make([]Value, len(a.Args))
	return q.Ask(named, []program.Literal{program.Positive{Atom: a}}, given, want, func(b Binding) (bool, error) {
		for i, t := range a.Args {
			tuple[i] = q.valueOf(t, b)
		}
		return visit(tuple)
	})
}

// valueOf returns the value of a term; none for one that is not bound.
func (q *Inquiry) valueOf(t program.Term, b Binding) Value {
	switch t.Form {
	case program.Constant:
		return q.Constant(t.Text)
	case program.Variable:
		return b[t.Slot]
	}
	return Value{}
}

// Count returns how many tuples of an atom agree with what is given. More than
// the row cap are a *LimitError.
func (q *Inquiry) Count(rule *program.Rule, a program.Atom, given Binding) (uint64, error) {
	name := "matches of " + q.e.program.Predicates[a.Predicate].Name
	seen := newRelation(name, len(a.Args))
	row := make([]value, len(a.Args))
	err := q.Matches(rule, a, given, func(tuple []Value) (bool, error) {
		for i, v := range tuple {
			row[i] = v.v
		}
		if seen.add(row); uint64(seen.len()) > q.e.meter.rows {
			return false, q.e.meter.tooMany(name, seen.len())
		}
		return true, nil
	})
	return uint64(seen.len()), err
}

// Moment is when a tuple was derived. Every tuple of a recursive relation has
// a derivation whose premises have earlier moments than itself.
type Moment struct{ run, row int }

// Before reports whether m is earlier than n. Only moments of one stratum
// compare.
func (m Moment) Before(n Moment) bool { return m.run < n.run || m.run == n.run && m.row < n.row }

// moments remembers what each run of a recursive rule added. Rows of different
// relations are numbered apart, so that row numbers alone do not order them:
// while a rule runs, though, only the relation of its head grows.
type moments struct {
	runs int
	log  map[*relation][]moment
}

// moment says that the rows from a number on were added in a run or later.
type moment struct{ run, from int }

// enter notes that a rule begins to add to a relation.
func (m *moments) enter(rel *relation) {
	m.runs++
	log := m.log[rel]
	if last := len(log) - 1; last >= 0 && log[last].from == rel.len() {
		log[last].run = m.runs
		return
	}
	m.log[rel] = append(log, moment{m.runs, rel.len()})
}

func (m *moments) of(rel *relation, row int) Moment {
	log := m.log[rel]
	behind, _ := slices.BinarySearchFunc(log, row+1, func(x moment, from int) int { return x.from - from })
	return Moment{log[behind-1].run, row}
}

// Earliest returns the tuple of a derived atom that agrees with what is given
// and was derived first.
func (q *Inquiry) Earliest(rule *program.Rule, a program.Atom, given Binding) (tuple []Value, at Moment, found bool, err error) {
	e := q.e
	rel := e.relations[a.Predicate]
	seed, bound := q.seed(rule, given)
	s := e.newRelationStep(&relationItem{rel: rel, args: a.Args}, bound, newSlotSet(rule))
	s.bindKey(seed)
	first := -1
	if len(s.columns) == 0 {
		for n := 0; n < rel.len() && first < 0; n++ {
			if s.agrees(rel.row(n)) {
				first = n
			}
		}
	} else {
		index := rel.index(s.columns)
		for n := index.first(s.values); n != 0; n = index.after(n, s.values) {
			if err := e.meter.spend(1); err != nil {
				return nil, Moment{}, false, err
			}
			if s.agrees(rel.row(int(n - 1))) {
				first = int(n - 1)
			}
		}
	}
	if first < 0 {
		return nil, Moment{}, false, nil
	}
	for _, v := range rel.row(first) {
		tuple = append(tuple, Value{v})
	}
	return tuple, e.moments.of(rel, first), true, nil
}
