package eval

import (
	"errors"
	"fmt"

	"github.com/lace-store/lace/pkg/policy/program"
)

// countStep keeps the bindings for which the number of matches of an atom is
// what a Cardinality demands. What was counted once for a key, the values
// that the rest of the rule gives the atom, is not counted again.
type countStep struct {
	e         *Evaluator
	threshold threshold
	counter   counter
	key       []operand
	known     *tally // a cache, emptied when it is full
	fresh     block  // one binding for each key that has no count yet
}

// counter counts the matches for each binding of a block, up to enough.
type counter interface {
	count(in *block, enough uint64) ([]uint64, error)
}

// newCountStep compiles a Cardinality that no group decides.
func (e *Evaluator) newCountStep(rule *program.Rule, c *program.Cardinality, before slotSet) step {
	s := &countStep{e: e, threshold: newThreshold(*c)}
	for slot, isKey := range keySlots(c.Atom, before) {
		if isKey {
			s.key = append(s.key, operand{slot: slot})
		}
	}
	s.known = newTally(len(s.key))
	if e.isRecordAtom(c.Atom) {
		s.counter = e.newFactCounter(rule, c, before)
	} else {
		join := e.newRelationStep(&relationItem{rel: e.relations[c.Atom.Predicate], args: c.Atom.Args}, before, newSlotSet(rule))
		s.counter = &tupleCounter{join}
	}
	return s
}

// keySlots returns the slots of an atom that are bound already.
func keySlots(a program.Atom, before slotSet) slotSet {
	key := make(slotSet, len(before))
	for _, slot := range slotsOf(a.Args...) {
		key[slot] = before[slot]
	}
	return key
}

func (s *countStep) apply(in *block, out *stage) error {
	if s.threshold.enough == 0 {
		holds := s.threshold.holds(0)
		return pass(in, out, func(int) bool { return holds })
	}
	if err := s.countFresh(in); err != nil {
		return err
	}
	key := make([]value, len(s.key))
	return pass(in, out, func(i int) bool {
		n, _ := s.known.of(s.keyOf(in.row(i), key))
		return s.threshold.holds(n)
	})
}

func (s *countStep) keyOf(row, key []value) []value {
	for i := range s.key {
		key[i] = s.key[i].of(row)
	}
	return key
}

// countFresh counts for the keys of a block that were not met before. All keys
// of the block are known afterwards.
func (s *countStep) countFresh(in *block) error {
	if uint64(s.known.len()+in.n) > max(s.e.meter.rows, uint64(s.e.batch)) {
		s.known = newTally(len(s.key))
	}
	s.fresh.width = in.width
	s.fresh.reset()
	before := s.known.len()
	key := make([]value, len(s.key))
	for i := range in.n {
		if _, met := s.known.of(s.keyOf(in.row(i), key)); !met {
			s.known.add(key, 0)
			s.fresh.add(in.row(i))
		}
	}
	if s.fresh.n == 0 {
		return nil
	}
	counts, err := s.counter.count(&s.fresh, s.threshold.enough)
	if err != nil {
		return err
	}
	copy(s.known.counts[before:], counts)
	return nil
}

// tupleCounter counts the tuples of a relation.
type tupleCounter struct{ join *relationStep }

func (c *tupleCounter) count(in *block, enough uint64) ([]uint64, error) {
	s, counts := c.join, make([]uint64, in.n)
	var index *columnIndex
	if n := len(s.columns); n > 0 && n < s.rel.arity {
		index = s.rel.index(s.columns)
	}
	for i := range in.n {
		s.bindKey(in.row(i))
		counts[i] = s.countMatches(index, enough)
		if err := s.e.meter.spend(counts[i]); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// countMatches counts the tuples that have the key at hand, up to enough.
func (s *relationStep) countMatches(index *columnIndex, enough uint64) (count uint64) {
	if index != nil {
		for n := index.first(s.values); n != 0 && count < enough; n = index.after(n, s.values) {
			if s.agrees(s.rel.row(int(n - 1))) {
				count++
			}
		}
		return count
	}
	if len(s.columns) > 0 { // all of them
		if s.rel.has(s.values) {
			count++
		}
		return count
	}
	for n := 0; n < s.rel.len() && count < enough; n++ {
		if s.agrees(s.rel.row(n)) {
			count++
		}
	}
	return count
}

// factCounter counts facts of records.
type factCounter struct {
	group *groupStep
	// whole has the counts for all keys, when blocks need too many different
	// searches; windows share it. It is nil until then.
	whole   *tally
	refused bool // the keys were too many to keep
	shared  string
}

// newFactCounter compiles a counted atom over facts. Its owner has no range:
// nothing else in the rule can narrow what only the atom has.
func (e *Evaluator) newFactCounter(rule *program.Rule, c *program.Cardinality, before slotSet) *factCounter {
	item := &groupItem{owner: c.Atom.Args[0], atoms: []program.Atom{c.Atom}, counted: true, lo: 0, hi: e.boundary}
	s := &groupStep{e: e, rule: rule, group: e.newGroup(item, before, newSlotSet(rule)), test: keepMatched}
	s.matcher = newMatcher(s.group)
	if s.group.ownerKnown() {
		return &factCounter{group: s}
	}
	s.free = e.newFreeGroup(rule, item, before, newSlotSet(rule), s)
	s.free.refused = true // its matches would be kept without their number
	return &factCounter{group: s, shared: s.free.shared}
}

func (c *factCounter) count(in *block, enough uint64) ([]uint64, error) {
	s := c.group
	if s.free != nil && !c.refused && (c.whole != nil || c.wantsWhole(in)) {
		if err := c.countWhole(enough); err != nil || c.whole != nil {
			return c.look(in), err
		}
	}
	return c.search(in, enough)
}

// search counts for the bindings of one block.
func (c *factCounter) search(in *block, enough uint64) ([]uint64, error) {
	s := c.group
	done := newDoneSet(in.n, enough)
	done.charge = &s.e.meter
	if err := s.acquire(in, done, func() error { return done.add(s.matcher.binding) }, nil); err != nil {
		return nil, err
	}
	return done.counts, nil
}

// wantsWhole reports whether one search for all keys there are is better than
// those that a block needs: these are too many, or each would find the same.
func (c *factCounter) wantsWhole(in *block) bool {
	s := c.group
	return len(s.group.query.slots) == 0 || len(s.runs(in)) > s.e.distinct
}

// countWhole counts for every key in the root, once for all windows.
func (c *factCounter) countWhole(enough uint64) error {
	if c.whole != nil {
		return nil
	}
	e := c.group.e
	name := fmt.Sprint(c.shared, enough)
	t, known := e.counts[name]
	if !known {
		if e.forked {
			return ErrNotShared
		}
		var err error
		if t, err = c.derive(enough); err != nil {
			return err
		}
		e.counts[name] = t
		e.keepTexts = true
	}
	c.whole, c.refused = t, t == nil
	return nil
}

// derive returns the counts by key, nil when the keys are too many.
func (c *factCounter) derive(enough uint64) (*tally, error) {
	f := c.group.free
	t := newTally(len(f.keys))
	if len(f.keys) == 0 {
		// One count for all: it ends as soon as the verdict is decided.
		one := block{width: len(c.group.rule.Slots)}
		one.add(nil)
		counts, err := c.search(&one, enough)
		if err == nil {
			t.add(nil, counts[0])
		}
		return t, err
	}
	key := make([]value, len(f.keys))
	err := f.each(func(binding []value) error {
		for i, slot := range f.keys {
			key[i] = binding[slot]
		}
		t.add(key, 1)
		if uint64(t.len()) > c.group.e.meter.rows {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		return nil, nil
	}
	return t, err
}

// look returns the counts of a block from those of all keys.
func (c *factCounter) look(in *block) []uint64 {
	if c.whole == nil {
		return nil
	}
	counts := make([]uint64, in.n)
	key := make([]value, len(c.group.free.keys))
	for i := range in.n {
		for k, slot := range c.group.free.keys {
			key[k] = in.row(i)[slot]
		}
		counts[i], _ = c.whole.of(key)
	}
	return counts
}
