package sweeptest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

var (
	cases = flag.Int("sweep.cases", 2000, "random cases that the sweep and the oracle must agree on")
	seed  = flag.Uint64("sweep.seed", 1, "the first case; -sweep.cases 1 replays it alone")
)

// load admits the records of a root.
func load(t testing.TB, b store.Backend, records [][]byte) store.Backend {
	t.Helper()
	var op store.StoreRecords
	for _, rec := range records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			t.Fatal(err)
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	if _, err := b.Execute(op); err != nil {
		t.Fatal(err)
	}
	return b
}

func randomOptions(rng *rand.Rand) sweep.Options {
	return sweep.Options{
		WindowRecords:   []uint64{0, 1, 2, 3, 7}[rng.IntN(5)],
		PageRows:        []int{0, 1, 2, 5}[rng.IntN(4)],
		BlockBindings:   []int{0, 1, 2, 3, 8}[rng.IntN(5)],
		DistinctQueries: []int{0, 1, 2, 4}[rng.IntN(4)],
		MaxRelationRows: []uint64{0, 0, 2, 6}[rng.IntN(4)],
		WorkPerRecord:   1 << 40,
	}
}

// TestAgreesWithOracle compares random programs over random roots, and each
// with several limits, none of which may matter.
func TestAgreesWithOracle(t *testing.T) {
	selecting, large := 0, 0
	for i := range *cases {
		n := *seed + uint64(i)
		rng := rand.New(rand.NewPCG(n, 0))
		root := sweeptest.RandomRoot(rng, 14)
		var p *program.Program
		var want []uint64
		var err error
		// Most random programs select all or nothing; some that do are enough.
		for range 4 {
			p = sweeptest.RandomProgram(rng, root, true)
			if want, err = sweeptest.Select(p, root.Records); len(want) > 0 && len(want) < len(root.Records) {
				selecting++
				break
			}
		}
		if errors.Is(err, sweeptest.ErrTooLarge) {
			large++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var b store.Backend = load(t, memory.New(), root.Records)
		if i%8 == 0 {
			b = load(t, &storetest.Linear{}, root.Records)
		}
		for range 3 {
			compare(t, n, p, b, randomOptions(rng), want)
		}
	}
	if large*10 > *cases || *cases > 100 && selecting*4 < *cases {
		t.Errorf("of %d cases %d select some but not all records and %d were too large", *cases, selecting, large)
	}
}

func compare(t *testing.T, n uint64, p *program.Program, b store.Backend, o sweep.Options, want []uint64) {
	t.Helper()
	result, err := sweep.RunPrograms(context.Background(), b, []*program.Program{p}, o)
	if o.MaxRelationRows > 0 && errors.Is(err, store.LimitExceeded) {
		return // a cap may end a sweep, but never change what it says
	}
	if err != nil {
		t.Fatalf("case %d (go test -run %s -sweep.seed %d -sweep.cases 1)\n%+v\n%s%v", n, t.Name(), n, o, sweeptest.Text(p), err)
	}
	var got []uint64
	for id := range result.Kept.IDs() {
		got = append(got, uint64(id))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("case %d (go test -run %s -sweep.seed %d -sweep.cases 1)\n%+v\n%sgot  %v\nwant %v", n, t.Name(), n, o, sweeptest.Text(p), got, want)
	}
}
