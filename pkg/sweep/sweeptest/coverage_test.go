package sweeptest_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// TestRandomCasesCover: random modules have every feature often enough, pass
// preparation, and select neither nothing nor everything too often.
func TestRandomCasesCover(t *testing.T) {
	const n = 1500
	found, modules, warned := map[string]int{}, 0, map[string]int{}
	several, some, large := 0, 0, 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 2))
		root := sweeptest.RandomRoot(rng, 14)
		policies := sweeptest.RandomPolicies(rng, root)
		prepared := prepare(t, policies)
		if len(prepared.Modules) > 1 {
			several++
		}
		for _, w := range prepared.Warnings {
			warned[string(w.Code)]++
		}
		selected := 0
		for _, m := range prepared.Modules {
			modules++
			for _, name := range sweeptest.Features(m.Program) {
				found[name]++
			}
			ids, err := sweeptest.Select(m.Program, root.Records)
			switch {
			case errors.Is(err, sweeptest.ErrTooLarge):
				large++
			case err != nil:
				t.Fatalf("seed %d: %v\n%s", seed, err, policies)
			}
			selected = max(selected, len(ids))
		}
		if selected > 0 && selected < len(root.Records) {
			some++
		}
	}
	for _, name := range sweeptest.AllFeatures() {
		if found[name] < modules/250 {
			t.Errorf("%q: %d of %d modules", name, found[name], modules)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("features that have no name: %v", found)
	}
	t.Logf("%d modules, %v, several %d, some %d, large %d", modules, warned, several, some, large)
	if several < n/20 || some < n/4 || large > n/20 {
		t.Errorf("of %d cases %d have several modules, %d select some records only, %d are too large", n, several, some, large)
	}
}
