package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// freeGroup is a group as if nothing were known. It serves blocks that need
// more different searches than one block may make, in one of two ways:
//
//   - its matches over the whole range are kept as a relation, which then
//     serves all further blocks too, as long as that fits the row cap (ours);
//     when the range is the whole root, all windows share it;
//   - else one search a block, whose matches are joined with the bindings by
//     the texts of the slots that they share (seed 004).
type freeGroup struct {
	step    *groupStep // the group with what is known
	keys    []int      // the slots that both sides share
	matcher *matcher   // of the free group
	locals  []output   // of it: key local to key slot
	keyOnly bool       // the bindings matter through keys alone
	refused bool       // the relation did not fit
	memo    *relationStep
	outputs []output // the columns of the relation
	shared  string   // what identifies the relation in other windows, if it is whole
}

func (e *Evaluator) newFreeGroup(rule *program.Rule, item *groupItem, before, live slotSet, s *groupStep) *freeGroup {
	f := &freeGroup{step: s}
	// The shared slots are those in the positive atoms, but for the owner.
	for _, a := range item.atoms {
		for _, slot := range slotsOf(a.Args[1:]...) {
			if before[slot] && !slices.Contains(f.keys, int(slot)) {
				f.keys = append(f.keys, int(slot))
			}
		}
	}
	unknown, needed := before.clone(), live.clone()
	for _, slot := range f.keys {
		unknown[slot], needed[slot] = false, true
	}
	free := e.newGroup(item, unknown, needed)
	f.keyOnly = len(free.known) == 0
	f.matcher = newMatcher(free)
	for _, slot := range f.keys {
		for _, o := range free.outputs {
			if o.slot == slot {
				f.locals = append(f.locals, o)
				f.matcher.keys = append(f.matcher.keys, o.local)
			}
		}
	}
	f.outputs = free.outputs
	if s.test != join {
		f.outputs = f.locals
	}
	if item.lo == 0 && item.hi == e.boundary {
		f.shared = fmt.Sprint(rule.Text, item.owner, item.atoms, item.tests, item.counts, item.counted, item.compares, item.prefixes, f.keys, f.outputs, s.group.outOwner)
	}
	return f
}

// serve answers one block.
func (f *freeGroup) serve(in *block, done *doneSet, out *stage) error {
	if f.keyOnly && !f.refused {
		if err := f.memoize(); err != nil {
			return err
		}
	}
	if f.memo == nil {
		return f.searchOnce(in, done, out)
	}
	if done != nil {
		done.passed = true
	}
	return f.memo.apply(in, out)
}

// errFull ends the derivation of a relation that does not fit.
var errFull = errors.New("relation is full")

// memoize derives the matches over the whole range, once.
func (f *freeGroup) memoize() error {
	e := f.step.e
	rel, known := e.matches[f.shared]
	if !known {
		if f.shared != "" && e.forked {
			return ErrNotShared
		}
		var err error
		if rel, err = f.derive(); err != nil {
			return err
		}
		if f.shared != "" {
			e.matches[f.shared] = rel
			e.keepTexts = true
		}
	}
	if f.refused = rel == nil; !f.refused {
		f.memo = f.probe(rel, f.outputs)
	}
	return nil
}

// derive returns the matches as a relation, nil when they are too many.
func (f *freeGroup) derive() (*relation, error) {
	e, s := f.step.e, f.step
	width := len(f.outputs)
	if s.group.outOwner {
		width++
	}
	rel := newRelation("matches", width)
	row := make([]value, width)
	err := f.each(func(binding []value) error {
		for i, o := range f.outputs {
			row[i] = binding[o.slot]
		}
		if s.group.outOwner {
			row[width-1] = binding[s.group.owner.n]
		}
		if rel.add(row); uint64(rel.len()) > e.meter.rows {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		return nil, nil
	}
	return rel, err
}

// each hands on a binding for every match over the whole range.
func (f *freeGroup) each(take func(binding []value) error) error {
	e, s := f.step.e, f.step
	free := *f.matcher.group
	free.outputs = f.outputs
	producer := &groupStep{e: e, rule: s.rule, group: &free, matcher: newMatcher(&free)}
	return e.newPlan(s.rule, []step{producer}, take).run()
}

// probe returns the step that joins bindings with the kept matches.
func (f *freeGroup) probe(rel *relation, outputs []output) *relationStep {
	s := &relationStep{e: f.step.e, rel: rel, test: f.step.test}
	for i, o := range outputs {
		if slices.Contains(f.keys, o.slot) {
			s.columns = append(s.columns, i)
			s.key = append(s.key, operand{slot: o.slot})
		} else {
			s.outputs = append(s.outputs, output{i, o.slot})
		}
	}
	if f.step.group.outOwner {
		s.outputs = append(s.outputs, output{rel.arity - 1, f.step.group.owner.n})
	}
	s.values = make([]value, len(s.key))
	return s
}

// searchOnce joins one block with the matches of one search.
func (f *freeGroup) searchOnce(in *block, done *doneSet, out *stage) error {
	e, m := f.step.e, f.matcher
	m.done, m.keyed = done, map[string][]int32{}
	if done != nil {
		m.found = func() error { return done.add(m.binding) }
	} else {
		m.found = func() error { return f.emit(in, out) }
	}
	for i, slot := range m.group.known {
		var err error
		if m.known[i], err = e.slotTexts(m.known[i][:0], in, slot); err != nil {
			return err
		}
	}
	texts := make([][][]byte, len(f.keys))
	for k, slot := range f.keys {
		var err error
		if texts[k], err = e.slotTexts(nil, in, slot); err != nil {
			return err
		}
	}
	for i := range in.n {
		m.key = m.key[:0]
		for k := range f.keys {
			m.key = appendKey(m.key, texts[k][i])
		}
		m.keyed[string(m.key)] = append(m.keyed[string(m.key)], int32(i))
	}
	q := &m.group.query
	return e.find(store.Query{Constraints: constants(*q)}, q.lo, q.hi, func(rec store.Record) (bool, error) {
		if err := m.gather(rec); err != nil {
			return false, err
		}
		if _, err := m.match(0); err != nil {
			return false, err
		}
		return !done.all(), nil
	})
}

// emit hands on the binding at hand; the shared slots have their values.
func (f *freeGroup) emit(in *block, out *stage) error {
	m := f.matcher
	row, err := out.add(in.row(m.binding))
	if err != nil {
		return err
	}
	if m.group.outOwner {
		row[m.group.owner.n] = value(m.id)
	}
	for _, o := range m.group.outputs {
		if !slices.Contains(f.keys, o.slot) {
			out.put(row, o.slot, m.locals[o.local])
		}
	}
	return nil
}
