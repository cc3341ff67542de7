package sweep_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/sweep"
)

// BenchmarkWholeRootHelper sweeps with a helper over the whole root, in one
// window and in eight: shared, and derived anew in each as seed 000 does.
func BenchmarkWholeRootHelper(b *testing.B) {
	n := *bigRecords
	if n == 0 {
		n = 1 << 16
	}
	s := bigRoot(b, n)
	p := prepared(b, `replied(T) :- RecordLink(_,'Ref',_,_,T). SelectStoredRecord(R) :- Have(R), not replied(R).`)
	if _, err := sweep.Run(context.Background(), s, p, sweep.Options{}); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		windows uint64
		each    bool
	}{{1, false}, {8, false}, {8, true}} {
		b.Run(fmt.Sprintf("windows=%d/each=%t", c.windows, c.each), func(b *testing.B) {
			for b.Loop() {
				o := sweep.Options{WindowRecords: uint64(n) / c.windows, DeriveEachWindow: c.each}
				if _, err := sweep.Run(context.Background(), s, p, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSweep sweeps under the five policies of the performance page, with
// one part at a time and with two, over a store that has its lists already.
// Set the size with -sweep.big.
func BenchmarkSweep(b *testing.B) {
	n := *bigRecords
	if n == 0 {
		n = 1 << 16
	}
	s := bigRoot(b, n)
	var sources []policy.Source
	for _, p := range bigPolicies[:5] {
		sources = append(sources, policy.Source{Name: p.name, Text: []byte(p.text)})
	}
	prepared, err := policy.Prepare(sources, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := sweep.Run(context.Background(), s, prepared, sweep.Options{}); err != nil {
		b.Fatal(err)
	}
	for _, window := range []uint64{1 << 20, uint64(n) / 8} {
		for _, jobs := range []int{1, 2} {
			b.Run(fmt.Sprintf("window=%d/jobs=%d", window, jobs), func(b *testing.B) {
				for b.Loop() {
					o := sweep.Options{WindowRecords: window, Jobs: jobs}
					if _, err := sweep.Run(context.Background(), s, prepared, o); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
			})
		}
	}
}
