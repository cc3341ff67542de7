package verify

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store/record"
)

// BenchmarkHashes verifies records of 200 to 2,000 bytes beside the BLAKE3 of
// the same payloads on one core, in turns, so that both meet the same load. It
// reports MB/s of both, and the share of the hash limit: one core times as many
// as there are.
func BenchmarkHashes(b *testing.B) {
	var records [][]byte
	for i := range 100_000 {
		records = append(records, blob(b, fmt.Sprintf("%08d%s", i, strings.Repeat(".", 110+i*7919%1800))))
	}
	m := imageOf(b, records...)
	b.SetBytes(int64(len(m.arena)))
	var baseline, verified time.Duration
	for b.Loop() {
		start := time.Now()
		for _, rec := range records {
			payload := rec[record.GlyphLen:]
			if sum := blake3.Sum256(payload); sum == [32]byte{} {
				b.Fatal("no digest is zero")
			}
		}
		baseline += time.Since(start)
		start = time.Now()
		if r, err := Root(b.Context(), m.input(), Options{Level: Hashes}); err != nil || len(r.Bad) > 0 {
			b.Fatal(r, err)
		}
		verified += time.Since(start)
	}
	size := float64(len(m.arena)) * float64(b.N) / 1e6
	b.ReportMetric(size/baseline.Seconds(), "blake3-MB/s")
	b.ReportMetric(size/verified.Seconds(), "verify-MB/s")
	b.ReportMetric(100*baseline.Seconds()/verified.Seconds()/float64(runtime.GOMAXPROCS(0)), "%-of-limit")
}
