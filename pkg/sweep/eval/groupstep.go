package eval

import (
	"cmp"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// groupStep joins bindings with the matches of a group, or tests whether there
// are any.
type groupStep struct {
	e       *Evaluator
	rule    *program.Rule
	group   *group
	test    testKind
	matcher *matcher
	// free is the same group as if no slot were known, for blocks that need
	// too many different searches.
	free *freeGroup
}

// newGroupStep compiles a group. Negated keeps the bindings without a match.
func (e *Evaluator) newGroupStep(rule *program.Rule, item *groupItem, before, live slotSet, negated bool) *groupStep {
	s := &groupStep{e: e, rule: rule, group: e.newGroup(item, before, live)}
	switch {
	case negated:
		s.test = keepUnmatched
	case s.group.isTest():
		s.test = keepMatched
	}
	if len(s.group.query.slots) > 0 && !s.group.ownerKnown() {
		s.free = e.newFreeGroup(rule, item, before, live, s)
	}
	s.matcher = newMatcher(s.group)
	return s
}

// newNegatedStep compiles a negated atom that no group decides.
func (e *Evaluator) newNegatedStep(rule *program.Rule, a program.Atom, before slotSet) step {
	base := e.program.Predicates[a.Predicate].Base
	if base == program.NotBase || base == program.ParamBase {
		s := e.newRelationStep(&relationItem{rel: e.relations[a.Predicate], args: a.Args}, before, newSlotSet(rule))
		s.test = keepUnmatched
		return s
	}
	item := &groupItem{owner: a.Args[0], atoms: []program.Atom{a}}
	item.lo, item.hi = 0, e.boundary
	return e.newGroupStep(rule, item, before, newSlotSet(rule), true)
}

func (s *groupStep) apply(in *block, out *stage) error {
	if s.free != nil && s.free.memo != nil {
		return s.free.memo.apply(in, out)
	}
	if s.test == join {
		return s.acquire(in, nil, func() error { return s.emit(s.matcher, in, out) }, out)
	}
	done := newDoneSet(in.n, 1)
	err := s.acquire(in, done, func() error { return done.add(s.matcher.binding) }, out)
	if err != nil || done.passed {
		return err
	}
	want := s.test == keepMatched
	return pass(in, out, func(i int) bool { return done.has(i) == want })
}

// emit hands on the binding at hand together with what the match binds.
func (s *groupStep) emit(m *matcher, in *block, out *stage) error {
	row, err := out.add(in.row(m.binding))
	if err != nil {
		return err
	}
	if s.group.outOwner {
		row[s.group.owner.n] = value(m.id)
	}
	for _, o := range s.group.outputs {
		out.put(row, o.slot, m.locals[o.local])
	}
	return nil
}

// acquire finds all matches for a block of bindings, or, with a done set, the
// first for each.
func (s *groupStep) acquire(in *block, done *doneSet, found func() error, out *stage) error {
	m := s.matcher
	m.done, m.found = done, found
	for i, slot := range s.group.known {
		var err error
		if m.known[i], err = s.e.slotTexts(m.known[i][:0], in, slot); err != nil {
			return err
		}
	}
	switch {
	case s.group.ownerKnown():
		return s.load(in)
	case s.free == nil:
		return s.search(store.Query{Constraints: constants(s.group.query)}, allOf(in))
	}
	return s.searchEach(in, done, out)
}

func constants(q searchQuery) []store.Constraint {
	out := make([]store.Constraint, len(q.constraints))
	for i, c := range q.constraints {
		out[i] = c.Constraint
	}
	return out
}

// load matches records that the bindings name: each is loaded once a block,
// unless being held is all that is asked.
func (s *groupStep) load(in *block) error {
	m := s.matcher
	ownerOf := func(i int32) value {
		if s.group.owner.form == constant {
			return s.group.anchor
		}
		return in.row(int(i))[s.group.owner.n]
	}
	var order []int32
	for i := range int32(in.n) {
		if ownerOf(i).isRecord() {
			order = append(order, i)
		}
	}
	if s.group.haveOnly() {
		for _, i := range order {
			m.binding, m.id = int(i), ownerOf(i).id()
			if err := m.found(); err != nil {
				return err
			}
		}
		return nil
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(ownerOf(a), ownerOf(b)) })
	var ids []store.RecordID
	for _, i := range order {
		ids = append(ids, ownerOf(i).id())
	}
	return s.e.load(slices.Compact(ids), func(rec store.Record) error {
		n := 0
		for n < len(order) && ownerOf(order[n]).id() == rec.ID {
			n++
		}
		mine := order[:n]
		order = order[n:]
		return s.matchAll(rec, mine)
	})
}

// matchAll matches one record for some bindings.
func (s *groupStep) matchAll(rec store.Record, bindings []int32) error {
	m := s.matcher
	if err := m.gather(rec); err != nil {
		return err
	}
	for _, i := range bindings {
		if m.binding = int(i); m.done.has(m.binding) {
			continue
		}
		if _, err := m.match(0); err != nil {
			return err
		}
	}
	return nil
}

// search matches every record that one query finds for some bindings.
func (s *groupStep) search(q store.Query, bindings []int32) error {
	left := func() bool {
		return s.matcher.done == nil || slices.ContainsFunc(bindings, func(i int32) bool { return !s.matcher.done.has(int(i)) })
	}
	return s.e.find(q, s.group.query.lo, s.group.query.hi, func(rec store.Record) (bool, error) {
		if err := s.matchAll(rec, bindings); err != nil {
			return false, err
		}
		return left(), nil
	})
}

// searchEach groups the bindings by the query each needs. Too many different
// ones are answered by the group as if nothing were known.
func (s *groupStep) searchEach(in *block, done *doneSet, out *stage) error {
	q, runs := &s.group.query, s.runs(in)
	if len(runs) > s.e.distinct {
		return s.free.serve(in, done, out)
	}
	for _, run := range runs {
		query, possible := q.bind(func(slot int) []byte { return s.matcher.known[slices.Index(s.group.known, slot)][run[0]] })
		if !possible {
			continue
		}
		if err := s.search(query, run); err != nil {
			return err
		}
	}
	return nil
}

// runs returns the bindings of a block, those that need the same query
// together.
func (s *groupStep) runs(in *block) [][]int32 {
	order := allOf(in)
	compare := func(a, b int32) int {
		for _, slot := range s.group.query.slots {
			if c := cmp.Compare(in.row(int(a))[slot], in.row(int(b))[slot]); c != 0 {
				return c
			}
		}
		return 0
	}
	slices.SortStableFunc(order, compare)
	var runs [][]int32
	for from, i := 0, 0; i < len(order); i++ {
		if i+1 == len(order) || compare(order[i], order[i+1]) != 0 {
			runs = append(runs, order[from:i+1])
			from = i + 1
		}
	}
	return runs
}

// allOf lists the bindings of a block.
func allOf(in *block) []int32 {
	all := make([]int32, in.n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}
