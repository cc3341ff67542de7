package explain_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

var (
	records = flag.Int("explain.records", 1000, "random records whose explanations are checked, of each outcome")
	seed    = flag.Uint64("explain.seed", 1, "the first random case; -explain.records 1 replays it")
)

const (
	// perModule is how many records of each outcome one module explains: many
	// modules say more than many records.
	perModule = 2
	// leastOfKind is how many literals of each kind must be checked that hold,
	// and that fail. As many modules are tried as it takes, within reason.
	leastOfKind = 5
	// leastInAll is the same for all kinds of one name together.
	leastInAll = 20
)

// TestRandomExplanations checks the explanations of random records, kept and
// removed, against all that the oracle derives: every leaf, every application
// of a rule, every failure.
func TestRandomExplanations(t *testing.T) {
	seen := newSeen()
	outcome := map[bool]int{}
	enough := func() bool {
		return min(outcome[true], outcome[false]) >= *records && (*records < 1000 || seen.rarest() >= leastOfKind && seen.rarestInAll() >= leastInAll)
	}
	for n := *seed; !enough() && n < *seed+uint64(20**records); n++ {
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
		of := map[bool]int{}
		for _, i := range rng.Perm(len(root.Records)) {
			held := model.Has(p.Select, []string{root.Hash(i + 1)})
			if of[held]++; of[held] <= perModule {
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
	t.Logf("explanations of %d retained and %d removed records", outcome[true], outcome[false])
	if *records < 1000 {
		return // a replay
	}
	if min(outcome[true], outcome[false]) < *records {
		t.Errorf("too few of %d each", *records)
	}
	seen.want(t)
}
