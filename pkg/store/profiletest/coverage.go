package profiletest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// keeping chooses the ids of the records that keep says, by their number.
func keeping(keep func(n int) bool) profile.Choose {
	return func(_ context.Context, b store.Backend) (*kept.Set, error) {
		got, err := b.Execute(store.CurrentStorePosition{})
		if err != nil {
			return nil, err
		}
		set := kept.New(got.(store.PositionResult).Position)
		for n := range int(set.Boundary()) {
			if keep(n) {
				set.Add(store.RecordID(n + 1))
			}
		}
		return set, nil
	}
}

// Compaction is the first part of seed 000's list, on any profile: what is
// retained, by hash, in the old order, under contiguous ids, with identical
// bytes; what is removed is gone and can come again; posting lists answer as
// before; the tail is given back as the profile does; what is admitted next goes
// behind; a second run changes nothing; everything can go. It returns the report
// of the first run.
func (s Subject) Compaction(t *testing.T, fsys vfs.FS, dir string, release compact.Release) compact.Report {
	t.Helper()
	const records = 40
	s.MakeRoot(t, fsys, dir, Blobs(0, records)...)
	b, err := s.OpenStore(t.Context(), fsys, dir)
	Must(t, err)
	Must(t, errors.Join(Ask(b, 2), b.Close())) // worth a list
	var stay, gone [][]byte
	for n, rec := range Blobs(0, records) {
		if n%3 == 1 {
			stay = append(stay, rec)
		} else {
			gone = append(gone, rec)
		}
	}
	run := func(keep func(n int) bool) compact.Report {
		t.Helper()
		report, err := s.Profile.Compact(t.Context(), dir, profile.CompactOptions{Open: profile.Options{FS: fsys}}, keeping(keep))
		Must(t, err)
		return report
	}
	report := run(func(n int) bool { return n%3 == 1 })
	if report.Outcome != compact.Done || report.Boundary != records || report.Retained != count(stay) || report.Removed != count(gone) ||
		report.Release != release || report.Released != count(gone).Bytes {
		t.Errorf("%+v, want %d records of %d bytes to stay, and %s", report, len(stay), count(stay).Bytes, release)
	}
	s.holds(t, fsys, dir, stay, gone)

	b, err = s.OpenStore(t.Context(), fsys, dir)
	Must(t, err)
	got, err := Admit(b, stay[2], gone[0])
	Must(t, errors.Join(err, b.Close()))
	behind := store.RecordID(len(stay) + 1)
	if want := []store.StoreOutcome{{ID: 3, Duplicate: true}, {ID: behind}}; !slices.Equal(got.Outcomes, want) {
		t.Errorf("admitted as %+v, want %+v", got.Outcomes, want)
	}
	s.holds(t, fsys, dir, append(stay, gone[0]), gone[1:])
	if report := run(func(int) bool { return true }); report.Outcome != compact.NothingToDo {
		t.Errorf("all is kept: %+v", report)
	}
	s.holds(t, fsys, dir, append(stay, gone[0]), gone[1:])
	if report := run(func(int) bool { return false }); report.Outcome != compact.Done || report.Retained.Records != 0 || report.Release != release {
		t.Errorf("nothing is kept: %+v", report)
	}
	s.holds(t, fsys, dir, nil, Blobs(0, records))
	return report
}

func count(records [][]byte) (c compact.Count) {
	for _, rec := range records {
		c.Records, c.Bytes = c.Records+1, c.Bytes+uint64(len(rec))
	}
	return c
}

// holds checks that a root has exactly these records, in this order: by id, by
// hash, by posting list and through a comparison of every list with a scan.
func (s Subject) holds(t *testing.T, fsys vfs.FS, dir string, want, gone [][]byte) {
	t.Helper()
	b, err := s.OpenStore(t.Context(), fsys, dir)
	Must(t, err)
	all, err := Load(b)
	if err != nil || !Same(all, want) || int(b.Position()) != len(want) {
		t.Fatalf("%d records at position %d, %v; want %d", len(all), b.Position(), err, len(want))
	}
	var hashes []record.Hash
	var ids []store.RecordID
	for i, r := range Op(append(want[:len(want):len(want)], gone...)...).Records {
		id := store.RecordID(i + 1)
		if i >= len(want) {
			id = 0
		}
		hashes, ids = append(hashes, r.Hash), append(ids, id)
	}
	got, err := b.Execute(store.ResolveStoreRecordIDs{Hashes: hashes, ReadThrough: store.Latest})
	Must(t, err)
	if resolved := got.(store.ResolvedResult).IDs; !slices.Equal(resolved, ids) {
		t.Errorf("hashes resolve to %v, want %v", resolved, ids)
	}
	for range 3 { // by a scan, by a list in memory, by a list that is stored
		got, err = b.Execute(store.FindRecords{
			Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
			UpperInclusive: store.Latest, MaxRows: store.Unbounded,
		})
		Must(t, err)
		if found := got.(store.FoundResult).Records; len(found) != len(want) {
			t.Errorf("a key finds %d records, want %d", len(found), len(want))
		}
	}
	got = nil
	Must(t, b.Close())
	x, err := s.Profile.Examine(t.Context(), dir, profile.Options{FS: fsys})
	Must(t, err)
	checked, err := x.CheckIndexes(t.Context())
	if err = errors.Join(err, x.Damage(), x.Close()); err != nil || len(checked.Findings) > 0 || x.Files().Any() {
		t.Errorf("%v; findings %v; files %v", err, checked.Findings, x.Files().Names())
	}
}
