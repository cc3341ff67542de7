package explain_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

var (
	records = flag.Int("explain.records", 1000, "random records whose explanations are checked, of each outcome")
	seed    = flag.Uint64("explain.seed", 1, "the first random case; -explain.records 1 replays it")
)

// TestRandomExplanations checks the explanations of random records, kept and
// removed, against all that the oracle derives: every leaf, every application
// of a rule, every failure.
func TestRandomExplanations(t *testing.T) {
	seen := map[explain.Kind]int{}
	outcome := map[bool]int{}
	for n := *seed; min(outcome[true], outcome[false]) < *records && n < *seed+uint64(20**records); n++ {
		rng := rand.New(rand.NewPCG(n, 7))
		root := sweeptest.RandomRoot(rng, 12)
		p := sweeptest.RandomProgram(rng, root, true)
		model, err := sweeptest.Derive(p, root.Records)
		if errors.Is(err, sweeptest.ErrTooLarge) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ids := []store.RecordID{}
		for i := range root.Records {
			if held := model.Has(p.Select, []string{root.Hash(i + 1)}); outcome[held] < *records {
				ids = append(ids, store.RecordID(i+1))
				outcome[held]++
			}
		}
		o := sweep.Options{WorkPerRecord: 1 << 40, PageRows: 1 + rng.IntN(4), BlockBindings: 1 + rng.IntN(4), DistinctQueries: 1 + rng.IntN(3)}
		for _, rec := range explained(t, load(t, root), []*program.Program{p}, o, ids...) {
			if err := check(model, p, rec.Hash, rec.Modules[0], seen); err != nil {
				t.Fatalf("record #%d of case %d (-explain.seed %d -explain.records 1): %v\n%s", rec.ID, n, n, err, sweeptest.Text(p))
			}
		}
	}
	t.Logf("retained %d, removed %d, literals %v", outcome[true], outcome[false], seen)
	for _, kind := range []explain.Kind{explain.Fact, explain.Derived, explain.Not, explain.Compare, explain.Prefix, explain.Cardinality, explain.TopK} {
		if *records >= 1000 && min(seen[kind], seen["-"+kind]) < 20 {
			t.Errorf("of %s %d hold and %d fail", kind, seen[kind], seen["-"+kind])
		}
	}
	if *records >= 1000 && (min(outcome[true], outcome[false]) < *records || seen["-"+explain.Head] < 20) {
		t.Errorf("retained %d, removed %d, heads %d", outcome[true], outcome[false], seen["-"+explain.Head])
	}
}
