package eval

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
)

// TestRankingIsBounded: however many candidates there are, no more are held
// than twice the winners or a constant, and the winners are those of a sort of
// all.
func TestRankingIsBounded(t *testing.T) {
	const partitions, candidates, k = 100, 200_000, 3
	variable := func(s program.Slot) program.Term { return program.Term{Form: program.Variable, Slot: s} }
	lit := program.TopK{Partition: []program.Slot{1}, Order: program.Operand{Form: program.AdmitOrder, Term: variable(0)}, Descending: true, K: k}
	r := (&Evaluator{}).newRanking(lit, []program.Term{variable(0), variable(1)})
	rng := rand.New(rand.NewPCG(1, 1))
	all := map[value][]value{} // records by partition
	for i, n := range rng.Perm(candidates) {
		rec, of := value(1+n), value(1+rng.IntN(partitions))
		all[of] = append(all[of], rec)
		if err := r.add([]value{rec, of}); err != nil {
			t.Fatal(err)
		}
		if r.len() > rankingPool || cap(r.rows) > 4*rankingPool {
			t.Fatalf("%d tuples are held, of room for %d values, after %d candidates", r.len(), cap(r.rows), i+1)
		}
	}
	if err := r.cut(); err != nil {
		t.Fatal(err)
	}
	var want, got [][2]value
	for of, recs := range all {
		slices.Sort(recs)
		for _, rec := range recs[len(recs)-k:] {
			want = append(want, [2]value{rec, of})
		}
	}
	for i := range r.len() {
		got = append(got, [2]value(r.row(int32(i))))
	}
	order := func(a, b [2]value) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if !slices.Equal(got, want) {
		t.Errorf("winners %v, want %v", got, want)
	}
}
