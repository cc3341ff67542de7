package sweeptest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	facts "github.com/lace-store/lace/pkg/store/fact"
)

// TestProjection compares the two projections, which share nothing, over the
// records of random roots.
func TestProjection(t *testing.T) {
	for seed := range uint64(300) {
		root := RandomRoot(rand.New(rand.NewPCG(seed, 1)), 14)
		for i, rec := range root.Records {
			hash := root.Hash(i + 1)
			want := []fact{{program.Have, []string{hash}}}
			collected, err := facts.Collect(rec)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range collected {
				switch f.Predicate {
				case facts.Field:
					want = append(want, fact{program.Field, []string{hash, f.Name, strconv.Itoa(f.Index), f.Value}})
				case facts.RecordLink:
					want = append(want, fact{program.RecordLink, []string{hash, f.Name, strconv.Itoa(f.Index), f.Data, f.Target}})
				case facts.ContainsRecord:
					want = append(want, fact{program.ContainsRecord, []string{hash, f.Target}})
				}
			}
			got, err := project(rec)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]fact{got, want} {
				slices.SortFunc(list, func(a, b fact) int {
					if a.base != b.base {
						return int(a.base) - int(b.base)
					}
					return slices.Compare(a.args, b.args)
				})
			}
			if !slices.EqualFunc(got, want, func(a, b fact) bool { return a.base == b.base && slices.Equal(a.args, b.args) }) {
				t.Fatalf("seed %d record %d\ngot  %v\nwant %v\n%s", seed, i+1, got, want, rec)
			}
		}
	}
}

// TestProjectionRefuses: bytes that are no record are an error, not a record
// without facts.
func TestProjectionRefuses(t *testing.T) {
	plex := string(MakePlex("x").Bytes())
	for _, text := range []string{"", "x", "🖧: B.x.H3\n", "🖧: " + AbsentHash(0), plex[:60], plex[:len(plex)-40]} {
		if got, err := project([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
