package profiletest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
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

// Benchmark measures what a command does with a root: opening it, admitting a
// batch, finding by a key, loading every record in order, and compacting half of
// it away. The file system is the real one, and warm.
func (s Subject) Benchmark(b *testing.B) {
	open := func(b *testing.B, dir string) profile.Store {
		opened, err := s.Profile.Open(b.Context(), dir, profile.Options{FS: osfs.New()})
		Must(b, err)
		return opened
	}
	b.Run("open", func(b *testing.B) {
		dir, bytes := s.benchRoot(b)
		b.SetBytes(bytes)
		for b.Loop() {
			Must(b, open(b, dir).Close())
		}
	})
	b.Run("admit", func(b *testing.B) {
		dir, _ := s.benchRoot(b)
		opened := open(b, dir)
		defer opened.Close()
		for n := benchRecords; b.Loop(); n += benchBatch {
			_, err := Admit(opened, benchBatchOf(n)...)
			Must(b, err)
		}
	})
	b.Run("find", func(b *testing.B) {
		dir, _ := s.benchRoot(b)
		opened := open(b, dir)
		defer opened.Close()
		for b.Loop() {
			Must(b, Ask(opened, 1))
		}
	})
	b.Run("load", func(b *testing.B) {
		dir, bytes := s.benchRoot(b)
		opened := open(b, dir)
		defer opened.Close()
		b.SetBytes(bytes)
		for b.Loop() {
			for id := store.RecordID(1); id <= benchRecords; id++ {
				_, err := opened.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}})
				Must(b, err)
			}
		}
	})
	b.Run("compact", func(b *testing.B) {
		half := func(context.Context, store.Backend) (*kept.Set, error) {
			set := kept.New(benchRecords)
			for id := store.RecordID(1); id <= benchRecords; id += 2 {
				set.Add(id)
			}
			return set, nil
		}
		for b.Loop() {
			b.StopTimer()
			dir, bytes := s.benchRoot(b)
			b.SetBytes(bytes / 2)
			b.StartTimer()
			report, err := s.Profile.Compact(b.Context(), dir, profile.CompactOptions{Open: profile.Options{FS: osfs.New()}}, half)
			if err == nil && report.Retained.Records != benchRecords/2 {
				err = errors.New("not half of it was retained")
			}
			Must(b, err)
		}
	})
}
