package eval

import "github.com/lace-store/lace/pkg/policy/program"

// relationStep joins bindings with the tuples of a relation, or tests whether
// there are any.
type relationStep struct {
	e       *Evaluator
	rel     *relation
	columns []int     // the columns whose value is known before
	key     []operand // their values
	outputs []output  // column to slot; the field local is the column
	same    [][2]int  // columns that must be equal
	delta   bool
	// test, unless zero, keeps bindings with a matching tuple or those without.
	test   testKind
	values []value // the key of the binding at hand
}

type testKind uint8

const (
	join testKind = iota
	keepMatched
	keepUnmatched
)

// newRelationStep compiles an atom over a relation.
func (e *Evaluator) newRelationStep(item *relationItem, before, live slotSet) *relationStep {
	s := &relationStep{e: e, rel: item.rel, delta: item.delta}
	first := map[program.Slot]int{}
	for c, t := range item.args {
		switch {
		case t.Form == program.Anonymous:
		case t.Form == program.Constant || before[t.Slot]:
			s.columns = append(s.columns, c)
			s.key = append(s.key, e.operandOf(t))
		default:
			if at, met := first[t.Slot]; met {
				s.same = append(s.same, [2]int{at, c})
				continue
			}
			first[t.Slot] = c
			if live[t.Slot] {
				s.outputs = append(s.outputs, output{c, int(t.Slot)})
			}
		}
	}
	s.values = make([]value, len(s.key))
	if len(s.outputs) == 0 && !s.delta {
		s.test = keepMatched
	}
	return s
}

func (s *relationStep) apply(in *block, out *stage) error {
	if s.delta {
		return s.scan(in, out, s.e.delta.from, s.e.delta.to)
	}
	if s.test != join {
		return pass(in, out, s.tester(in))
	}
	if len(s.columns) == 0 {
		return s.scan(in, out, 0, s.rel.len())
	}
	index := s.rel.index(s.columns)
	for i := range in.n {
		s.bindKey(in.row(i))
		for n := index.first(s.values); n != 0; n = index.after(n, s.values) {
			if err := s.emit(in.row(i), s.rel.row(int(n-1)), out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *relationStep) bindKey(row []value) {
	for i := range s.key {
		s.values[i] = s.key[i].of(row)
	}
}

// scan joins every binding with the tuples in [from, to).
func (s *relationStep) scan(in *block, out *stage, from, to int) error {
	for i := range in.n {
		s.bindKey(in.row(i))
		for n := from; n < to; n++ {
			tuple := s.rel.row(n)
			if !s.hasKey(tuple) {
				continue
			}
			if err := s.emit(in.row(i), tuple, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *relationStep) hasKey(tuple []value) bool {
	for i, c := range s.columns {
		if tuple[c] != s.values[i] {
			return false
		}
	}
	return true
}

func (s *relationStep) agrees(tuple []value) bool {
	for _, pair := range s.same {
		if tuple[pair[0]] != tuple[pair[1]] {
			return false
		}
	}
	return true
}

func (s *relationStep) emit(binding, tuple []value, out *stage) error {
	if !s.agrees(tuple) {
		return nil
	}
	row, err := out.add(binding)
	if err != nil {
		return err
	}
	for _, o := range s.outputs {
		row[o.slot] = tuple[o.local]
	}
	return nil
}

// tester returns what decides whether a binding passes a test.
func (s *relationStep) tester(in *block) func(i int) bool {
	want := s.test == keepMatched
	if len(s.columns) == 0 {
		found := false
		for n := 0; n < s.rel.len() && !found; n++ {
			found = s.agrees(s.rel.row(n))
		}
		return func(int) bool { return found == want }
	}
	if len(s.columns) == s.rel.arity {
		return func(i int) bool {
			s.bindKey(in.row(i))
			return s.rel.has(s.values) == want
		}
	}
	index := s.rel.index(s.columns)
	return func(i int) bool {
		s.bindKey(in.row(i))
		for n := index.first(s.values); n != 0; n = index.after(n, s.values) {
			if s.agrees(s.rel.row(int(n - 1))) {
				return want
			}
		}
		return !want
	}
}
