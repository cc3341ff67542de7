package eval

import (
	"math"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// Rank returns the one-based rank of a candidate of a TopK within its
// partition, and how many candidates that has. The candidate gives all
// variables of the ranked atom and has a place in the order. More candidates
// than the row cap are a *LimitError.
func (q *Inquiry) Rank(rule *program.Rule, lit program.TopK, candidate Binding) (rank, of uint64, err error) {
	e := q.e
	lit.K = math.MaxUint64
	columns := distinctVariables(lit.Atom)
	ranking := e.newRanking(lit, columns)
	name := "candidates of TopK of " + e.program.NameOf(lit.Atom.Predicate)
	seen := newRelation(name, len(columns))
	want := slotsOf(columns...)
	row := func(b Binding) []value {
		tuple := make([]value, len(want))
		for i, s := range want {
			tuple[i] = b[s].v
		}
		return tuple
	}
	partition := make(Binding, len(rule.Slots))
	for _, s := range lit.Partition {
		partition[s] = candidate[s]
	}
	body := []program.Literal{program.Positive{Atom: lit.Atom, Position: lit.Position}}
	err = q.Ask(rule, body, partition, want, func(b Binding) (bool, error) {
		tuple := row(b)
		if !seen.add(tuple) {
			return true, nil
		}
		if uint64(seen.len()) > e.meter.rows {
			return false, e.meter.tooMany(name, seen.len())
		}
		return true, ranking.add(tuple)
	})
	if err != nil {
		return 0, 0, err
	}
	if err := ranking.cut(); err != nil {
		return 0, 0, err
	}
	mine := row(candidate)
	for i := range ranking.len() {
		if slices.Equal(ranking.row(int32(i)), mine) {
			rank = uint64(i) + 1
		}
	}
	return rank, uint64(ranking.len()), nil
}

// HasPlace reports whether a value has a place in the order of a TopK: it is a
// record that is held for AdmitOrder, a canonical number for Number.
func (q *Inquiry) HasPlace(lit program.TopK, v Value) (bool, error) {
	ranking := q.e.newRanking(lit, []program.Term{lit.Order.Term})
	err := ranking.add([]value{v.v})
	return ranking.len() > 0, err
}
