package profiletest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// A root of the benchmarks has this many records, in batches.
const (
	benchRecords = 20_000
	benchBatch   = 500
)

// benchBlob is a valid record of 200 to 2,000 bytes.
func benchBlob(n int) []byte {
	v, err := record.BuildBlob(nil, fmt.Appendf(nil, "%d%s", n, strings.Repeat(".", 110+n*7919%1800)))
	if err != nil {
		panic(err)
	}
	return v.Bytes()
}

// benchRoot makes a root on the system's files and returns its committed bytes.
func (s Subject) benchRoot(b *testing.B) (dir string, bytes int64) {
	b.Helper()
	dir = filepath.Join(b.TempDir(), "root")
	opened, err := s.Profile.Create(b.Context(), dir, profile.Options{FS: osfs.New(), Capacity: s.Capacity})
	Must(b, err)
	for n := 0; n < benchRecords; n += benchBatch {
		_, err := Admit(opened, benchBatchOf(n)...)
		Must(b, err)
	}
	bytes = int64(opened.Table().End())
	Must(b, opened.Close())
	return dir, bytes
}

func benchBatchOf(from int) (records [][]byte) {
	for n := from; n < from+benchBatch; n++ {
		records = append(records, benchBlob(n))
	}
	return records
}

// open opens a root of the benchmarks.
func (s Subject) open(b *testing.B, dir string) profile.Store {
	b.Helper()
	opened, err := s.Profile.Open(b.Context(), dir, profile.Options{FS: osfs.New()})
	Must(b, err)
	return opened
}

// work is something that a command does with a root.
type work struct {
	name string
	// setup makes a root, and says how to prepare a turn, which returns what is
	// timed, and how many bytes of records a turn is about; zero is none.
	setup func(b *testing.B, s Subject) (next func() (timed func() error), bytes int64)
}

// works are opening a root, admitting a batch to it, finding by a key, loading
// every record in order, and compacting half of it away. The file system is the
// real one, and warm.
func works() []work {
	always := func(timed func() error) func() func() error { return func() func() error { return timed } }
	return []work{
		{"open", func(b *testing.B, s Subject) (func() func() error, int64) {
			dir, bytes := s.benchRoot(b)
			return always(func() error { return s.open(b, dir).Close() }), bytes
		}},
		{"admit", func(b *testing.B, s Subject) (func() func() error, int64) {
			dir, _ := s.benchRoot(b)
			opened, n := s.open(b, dir), benchRecords
			b.Cleanup(func() { Must(b, opened.Close()) })
			return func() func() error {
				batch := benchBatchOf(n)
				n += benchBatch
				return func() error { _, err := Admit(opened, batch...); return err }
			}, 0
		}},
		{"find", func(b *testing.B, s Subject) (func() func() error, int64) {
			dir, _ := s.benchRoot(b)
			opened := s.open(b, dir)
			b.Cleanup(func() { Must(b, opened.Close()) })
			return always(func() error { return Ask(opened, 1) }), 0
		}},
		{"load", func(b *testing.B, s Subject) (func() func() error, int64) {
			dir, bytes := s.benchRoot(b)
			opened := s.open(b, dir)
			b.Cleanup(func() { Must(b, opened.Close()) })
			return always(func() error { return loadEach(opened) }), bytes
		}},
		{"compact", func(b *testing.B, s Subject) (func() func() error, int64) {
			return func() func() error {
				dir, _ := s.benchRoot(b)
				return func() error { return s.halve(b, dir) }
			}, 0
		}},
	}
}

func loadEach(opened profile.Store) error {
	for id := store.RecordID(1); id <= benchRecords; id++ {
		if _, err := opened.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}}); err != nil {
			return err
		}
	}
	return nil
}

// halve compacts half of a root of the benchmarks away.
func (s Subject) halve(b *testing.B, dir string) error {
	report, err := s.Profile.Compact(b.Context(), dir, profile.CompactOptions{Open: profile.Options{FS: osfs.New()}}, keeping(func(n int) bool { return n%2 == 0 }))
	if err == nil && report.Retained.Records != benchRecords/2 {
		err = errors.New("not half of it was retained")
	}
	return err
}

// Benchmark measures the works of a profile.
func (s Subject) Benchmark(b *testing.B) {
	for _, w := range works() {
		b.Run(w.name, func(b *testing.B) {
			next, bytes := w.setup(b, s)
			b.SetBytes(bytes)
			for b.Loop() {
				b.StopTimer()
				timed := next()
				b.StartTimer()
				Must(b, timed())
			}
		})
	}
}

// Compare measures the works of several profiles in turns, so that all meet the
// same load, and reports the median time of the first and how many times as long
// each of the others takes, as the median of the ratios of neighbours.
func Compare(b *testing.B, subjects ...Subject) {
	for _, w := range works() {
		b.Run(w.name, func(b *testing.B) {
			var next []func() func() error
			for _, s := range subjects {
				n, _ := w.setup(b, s)
				next = append(next, n)
			}
			var first []float64
			ratios := make([][]float64, len(subjects))
			for b.Loop() {
				for i := range subjects {
					timed := next[i]()
					begin := time.Now()
					Must(b, timed())
					took := time.Since(begin).Seconds()
					if i == 0 {
						first = append(first, took)
					}
					ratios[i] = append(ratios[i], took/first[len(first)-1])
				}
			}
			b.ReportMetric(0, "ns/op") // of all of them, which says nothing
			b.ReportMetric(1000*median(first), strings.ToLower(subjects[0].Profile.Name())+"-ms")
			for i, s := range subjects[1:] {
				b.ReportMetric(median(ratios[i+1]), strings.ToLower(s.Profile.Name())+"-x")
			}
		})
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
