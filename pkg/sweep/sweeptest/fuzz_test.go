package sweeptest_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// fuzzWork and fuzzRows are budgets that a small program over ten records does
// not reach and that end a cross product within milliseconds.
const (
	fuzzWork = 2_000
	fuzzRows = 500
)

// FuzzSweep evaluates any policy that prepares, under a budget, over a small
// root: it ends with a result or because the budget is spent. The oracle selects
// the same wherever it can say, and so do windows of two ids.
func FuzzSweep(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 0))
	root := sweeptest.RandomRoot(rng, 10)
	params := sweeptest.RandomPolicies(rng, root).Params
	for range 40 {
		f.Add(sweeptest.RandomPolicies(rng, root).Modules[0])
	}
	f.Add("SelectStoredRecord(R) :- Have(R), Have(A), Have(B), Have(C), Have(D), Have(E), Have(F).")
	f.Add("p(A,B) :- Have(A), Have(B).\np(A,C) :- p(A,B), p(B,C).\nSelectStoredRecord(R) :- p(R,_), not Field(R,'A',_,_).")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Prepare([]policy.Source{{Name: "f.lace", Text: []byte(text)}}, params)
		if err != nil {
			return // FuzzPrepare looks at refusals
		}
		whole, err := fuzzed(t, p, root, sweep.Options{})
		if err != nil {
			return
		}
		want, err := expect(p, root)
		if err == nil && !slices.Equal(whole, want[0]) {
			t.Errorf("the sweep selects %v, the oracle %v", whole, want[0])
		} else if err != nil && !errors.Is(err, sweeptest.ErrTooLarge) {
			t.Errorf("oracle: %v", err)
		}
		windows, err := fuzzed(t, p, root, sweep.Options{WindowRecords: 2})
		if err == nil && !slices.Equal(windows, whole) {
			t.Errorf("windows of two ids select %v, one window %v", windows, whole)
		}
	})
}

// fuzzed returns what a sweep under the budget selects, or that the budget is
// spent.
func fuzzed(t *testing.T, p *policy.Prepared, root *sweeptest.Root, o sweep.Options) (ids []uint64, err error) {
	o.WorkPerRecord, o.MaxRelationRows = fuzzWork, fuzzRows
	backend := open(t, inMemory, root)
	result, err := sweep.Run(t.Context(), backend, p, o)
	if closed := backend.Close(); closed != nil {
		t.Fatal(closed)
	}
	if err != nil {
		if !errors.Is(err, store.LimitExceeded) {
			t.Fatalf("a sweep of a whole root: %v", err)
		}
		return nil, err
	}
	for id := range result.Kept.IDs() {
		ids = append(ids, uint64(id))
	}
	return ids, nil
}
