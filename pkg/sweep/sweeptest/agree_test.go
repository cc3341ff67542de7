package sweeptest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

var (
	cases = flag.Int("sweep.cases", 2000, "random cases that the sweep and the oracle must agree on")
	seed  = flag.Uint64("sweep.seed", 1, "the first case; -sweep.cases 1 replays it alone")
)

func prepare(t testing.TB, p sweeptest.Policies) *policy.Prepared {
	t.Helper()
	prepared, err := prepared(p)
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	return prepared
}

func prepared(p sweeptest.Policies) (*policy.Prepared, error) {
	var sources []policy.Source
	for i, text := range p.Modules {
		sources = append(sources, policy.Source{Name: fmt.Sprintf("module%d.lace", i), Text: []byte(text)})
	}
	return policy.Prepare(sources, p.Params)
}

// expect returns what the oracle selects, module by module.
func expect(p *policy.Prepared, root *sweeptest.Root) (selected [][]uint64, err error) {
	for _, m := range p.Modules {
		ids, err := sweeptest.Select(m.Program, root.Records)
		if err != nil {
			return nil, err
		}
		selected = append(selected, ids)
	}
	return selected, nil
}

// setup is how one sweep is run. None of it may matter.
type setup struct {
	backend backendKind
	options sweep.Options
}

func randomSetup(rng *rand.Rand) setup {
	return setup{
		backend: pickBackend(rng),
		options: sweep.Options{
			WindowRecords:   []uint64{0, 1, 2, 3, 7}[rng.IntN(5)],
			PageRows:        []int{0, 1, 2, 5}[rng.IntN(4)],
			BlockBindings:   []int{0, 1, 2, 3, 8}[rng.IntN(5)],
			DistinctQueries: []int{0, 1, 2, 4}[rng.IntN(4)],
			MaxRelationRows: []uint64{0, 0, 2, 6}[rng.IntN(4)],
			WorkPerRecord:   1 << 40,
			Jobs:            []int{0, 0, 2, 3}[rng.IntN(4)],

			DeriveEachWindow: rng.IntN(4) == 0,
		},
	}
}

// disagreement returns an error unless a sweep selects what the oracle does.
func disagreement(t testing.TB, p *policy.Prepared, root *sweeptest.Root, s setup, want [][]uint64) error {
	backend := open(t, s.backend, root)
	result, err := sweep.Run(context.Background(), backend, p, s.options)
	if err := errors.Join(err, backend.Close()); err != nil {
		if s.options.MaxRelationRows > 0 && errors.Is(err, store.LimitExceeded) {
			return nil // a cap may end a sweep, but never change what it says
		}
		return err
	}
	union := map[store.RecordID]bool{}
	for i, ids := range want {
		got := result.Report.Modules[i].Kept
		if got.Count() != uint64(len(ids)) || slices.ContainsFunc(ids, func(id uint64) bool { return !got.Has(store.RecordID(id)) }) {
			return fmt.Errorf("module %d selects %v, want %v", i, slices.Collect(got.IDs()), ids)
		}
		for _, id := range ids {
			union[store.RecordID(id)] = true
		}
	}
	if got := slices.Collect(result.Kept.IDs()); len(got) != len(union) || slices.ContainsFunc(got, func(id store.RecordID) bool { return !union[id] }) {
		return fmt.Errorf("the modules together select %v, want %v", got, union)
	}
	return nil
}

// TestAgreesWithOracle compares random policies over random roots, and each
// with several setups.
func TestAgreesWithOracle(t *testing.T) {
	selecting, large := 0, 0
	for i := range *cases {
		n := *seed + uint64(i)
		rng := rand.New(rand.NewPCG(n, 0))
		root := sweeptest.RandomRoot(rng, 14)
		policies, want, err := randomCase(t, rng, root)
		if errors.Is(err, sweeptest.ErrTooLarge) {
			large++
			continue
		}
		if err != nil {
			t.Fatalf("case %d: %v\n%s", n, err, policies)
		}
		if isSome(want, root) {
			selecting++
		}
		for range 3 {
			s := randomSetup(rng)
			if err := disagreement(t, prepare(t, policies), root, s, want); err != nil {
				report(t, n, policies, root, s, err)
			}
		}
	}
	if large*10 > *cases || *cases > 100 && selecting*4 < *cases {
		t.Errorf("of %d cases %d select some but not all records and %d were too large", *cases, selecting, large)
	}
}

// randomCase tries some policies, since most select all or nothing; some that
// do are enough.
func randomCase(t testing.TB, rng *rand.Rand, root *sweeptest.Root) (p sweeptest.Policies, want [][]uint64, err error) {
	for range 4 {
		p = sweeptest.RandomPolicies(rng, root)
		if want, err = expect(prepare(t, p), root); isSome(want, root) {
			break
		}
	}
	return p, want, err
}

// isSome reports whether a module selects neither nothing nor everything.
func isSome(selected [][]uint64, root *sweeptest.Root) bool {
	return slices.ContainsFunc(selected, func(ids []uint64) bool { return len(ids) > 0 && len(ids) < len(root.Records) })
}

// report ends the test with a case that is as small as it gets.
func report(t *testing.T, n uint64, p sweeptest.Policies, root *sweeptest.Root, s setup, err error) {
	t.Helper()
	fails := func(p sweeptest.Policies, root *sweeptest.Root) bool {
		prepared, refused := prepared(p)
		if refused != nil {
			return false
		}
		want, tooLarge := expect(prepared, root)
		if tooLarge != nil {
			return false
		}
		smaller := disagreement(t, prepared, root, s, want)
		if smaller != nil {
			err = smaller
		}
		return smaller != nil
	}
	p, root = sweeptest.Shrink(p, root, fails)
	t.Fatalf("case %d: go test ./pkg/sweep/sweeptest -run '^%s$' -sweep.seed %d -sweep.cases 1\n%v\n%+v\n%s%s",
		n, t.Name(), n, err, s, p, root.Listing())
}
