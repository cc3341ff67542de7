package eval

import (
	"cmp"
	"math"
	"strconv"

	"github.com/lace-store/lace/pkg/policy/program"
)

// threshold is what a Cardinality demands of a count. A fact or a derived
// tuple stands only once, and what the rule leaves open in it differs between
// any two that agree in the rest, so that matches are counted and none need
// be remembered.
type threshold struct {
	operator program.Operator
	n        uint64
	// enough is a count beyond which the verdict no longer changes: nothing
	// is counted further.
	enough uint64
}

// newThreshold returns the threshold of a literal. No count reaches what does
// not fit 63 bits, whose verdict is that of 0.
func newThreshold(c program.Cardinality) threshold {
	n, err := strconv.ParseUint(c.Count, 10, 63)
	if err != nil {
		return threshold{operator: c.Operator, n: math.MaxUint64}
	}
	t := threshold{operator: c.Operator, n: n, enough: n + 1}
	if c.Operator == program.GreaterOrEqual || c.Operator == program.Less {
		t.enough = n
	}
	return t
}

// holds decides a count, which may have ended at enough.
func (t *threshold) holds(count uint64) bool { return t.operator.Holds(cmp.Compare(count, t.n)) }

// tally has a count for each key.
type tally struct {
	keys   *relation
	counts []uint64
}

func newTally(width int) *tally { return &tally{keys: newRelation("counts", width)} }

// of returns the count of a key, if there is one.
func (t *tally) of(key []value) (uint64, bool) {
	if n := t.keys.find(key); n >= 0 {
		return t.counts[n], true
	}
	return 0, false
}

// add adds to the count of a key.
func (t *tally) add(key []value, n uint64) {
	if t.keys.add(key) {
		t.counts = append(t.counts, n)
		return
	}
	t.counts[t.keys.find(key)] += n
}

func (t *tally) len() int { return t.keys.len() }
