package sweeptest

import (
	"math"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// Model is all that is true of a program over a root, as the oracle has it.
type Model struct{ oracle *oracle }

// Binding gives slots of a rule their texts.
type Binding map[program.Slot]string

// Derive evaluates a program whole. records are as for Select, and so are the
// errors.
func Derive(p *program.Program, records [][]byte) (*Model, error) {
	o := &oracle{program: p, order: map[string]int{}, relations: make([]tuples, len(p.Predicates))}
	if err := o.project(records); err != nil {
		return nil, err
	}
	for _, s := range p.Strata {
		if err := o.fixpoint(s); err != nil {
			return nil, err
		}
	}
	return &Model{o}, nil
}

// Has reports whether a tuple is in the relation of a predicate, base or
// derived.
func (m *Model) Has(id program.PredicateID, tuple []string) bool {
	return slices.ContainsFunc(m.oracle.relations[id].rows, func(row []string) bool { return slices.Equal(row, tuple) })
}

// Bindings returns the bindings of literals of a rule that extend what is
// given. The error is ErrTooLarge.
func (m *Model) Bindings(rule *program.Rule, body []program.Literal, given Binding) ([]Binding, error) {
	part := &program.Rule{Head: rule.Head, Body: body, Slots: rule.Slots}
	bindings := []binding{m.texts(rule, given)}
	for _, lit := range body {
		switch lit := lit.(type) {
		case program.Positive:
			bindings = join(bindings, lit.Atom.Args, m.oracle.relations[lit.Atom.Predicate].rows)
		case program.TopK:
			terms, rows := m.oracle.rank(part, lit)
			bindings = join(bindings, terms, rows)
		}
		if len(bindings) > maxBindings {
			return nil, ErrTooLarge
		}
	}
	var out []Binding
	for _, b := range bindEqual(part, bindings) {
		if m.oracle.holds(part, b) {
			found := Binding{}
			for s, text := range b {
				if text != nil {
					found[program.Slot(s)] = *text
				}
			}
			out = append(out, found)
		}
	}
	return out, nil
}

func (m *Model) texts(rule *program.Rule, given Binding) binding {
	b := make(binding, len(rule.Slots))
	for s, text := range given {
		b[s] = &text
	}
	return b
}

// Count returns what a Cardinality counts under a binding.
func (m *Model) Count(rule *program.Rule, a program.Atom, given Binding) int {
	return m.oracle.count(a, m.texts(rule, given))
}

// Rank returns the one-based rank of a candidate of a TopK in its partition,
// zero when it has none, and the size of that. The binding has all variables
// of the ranked atom.
func (m *Model) Rank(rule *program.Rule, lit program.TopK, candidate Binding) (rank, of int) {
	lit.K = math.MaxUint64
	terms, rows := m.oracle.rank(rule, lit)
	for _, row := range rows {
		same, mine := true, true
		for i, t := range terms {
			differs := row[i] != candidate[t.Slot]
			mine = mine && !differs
			same = same && !(differs && slices.Contains(lit.Partition, t.Slot))
		}
		if same {
			of++
		}
		if mine {
			rank = of
		}
	}
	return rank, of
}

// Order returns the one-based admission number of a record that is held.
func (m *Model) Order(hash string) (n int, held bool) {
	n, held = m.oracle.order[hash]
	return n, held
}
