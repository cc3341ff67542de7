package native_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

func TestContiguousIdsAndDuplicates(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	got, err := admit(s, blob(7), blob(1), blob(8), blob(7), blob(9), blob(8))
	must(t, err)
	want := []store.StoreOutcome{
		{ID: 4}, {ID: 2, Duplicate: true}, {ID: 5}, {ID: 4, Duplicate: true}, {ID: 6}, {ID: 5, Duplicate: true},
	}
	if fmt.Sprint(got.Outcomes) != fmt.Sprint(want) || got.Position != 6 {
		t.Errorf("outcomes %v at position %d, want %v at 6", got.Outcomes, got.Position, want)
	}
	all, err := load(s)
	must(t, err)
	if !sameRecords(all, append(blobs(0, 3), blobs(7, 10)...)) {
		t.Error("other records than were admitted")
	}
	end := uint64(0)
	for id := store.RecordID(1); id <= 6; id++ {
		row := s.Table().Row(id)
		if row.Offset != end {
			t.Errorf("record #%d starts at %d, want %d", id, row.Offset, end)
		}
		end = row.End()
	}
}

// A batch of duplicates appends nothing and syncs nothing.
func TestDuplicatesWriteNothing(t *testing.T) {
	base := model()
	build(t, base, "/root", blobs(0, 3)...)
	fsys := faultfs.New(base, "/root")
	s, err := native.Open(t.Context(), "/root", native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	fsys.Forget()
	_, err = admit(s, blob(2), blob(0))
	must(t, err)
	if calls := fsys.Transcript(faultfs.Changing); calls != "" {
		t.Errorf("duplicates did\n%s", calls)
	}
}

// One admission writes every record, syncs the arena once, appends all rows in
// one write and syncs the log once.
func TestOrderOfAnAdmission(t *testing.T) {
	base := model()
	build(t, base, "/root", blob(0))
	fsys := faultfs.New(base, "/root")
	s, err := native.Open(t.Context(), "/root", native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	end := s.Table().End()
	fsys.Forget()
	_, err = admit(s, blobs(1, 4)...)
	must(t, err)
	want := fmt.Sprintf("write records [%d, %d)\nsync records\nwrite record-log [64, 256)\nsync record-log\n", end, s.Table().End())
	if got := fsys.Transcript(faultfs.Changing); got != want {
		t.Errorf("an admission did\n%s\nwant\n%s", got, want)
	}
}

func TestCapacityIsNotExceeded(t *testing.T) {
	fsys, dir := model(), "/root"
	build(t, fsys, dir, blob(1))
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	big := bigBlob(minCapacity)
	_, err = admit(s, blob(2), big)
	kind(t, err, store.LimitExceeded, "1048576")
	if s.Position() != 1 {
		t.Errorf("position %d after a refused batch", s.Position())
	}
	_, err = admit(s, blob(2))
	must(t, err)
}

func TestAdmissionSurvivesCrashes(t *testing.T) { subject.AdmissionSurvivesCrashes(t) }

func TestWhatAnOpeningShowsIsDurable(t *testing.T) { subject.WhatAnOpeningShowsIsDurable(t) }

func TestAdmissionSurvivesFailedSyncs(t *testing.T) { subject.AdmissionSurvivesFailedSyncs(t) }

func TestReconciliationAfterFailedCalls(t *testing.T) { subject.ReconciliationAfterFailedCalls(t) }

func TestFullDisk(t *testing.T) { subject.FullDisk(t) }

// A written record is never torn away by the next admission over residue.
func TestResidueIsOverwritten(t *testing.T) {
	base := model()
	build(t, base, "/root", blob(0))
	f, err := base.OpenFile(filepath.Join("/root", root.Records), vfs.ReadWrite)
	must(t, err)
	junk := make([]byte, 3*rowlog.RowLen)
	_, err = f.WriteAt(junk, int64(len(blob(0)))+5)
	must(t, errors.Join(err, f.Sync(), f.Close()))
	s, err := native.Open(t.Context(), "/root", native.Options{FS: base})
	must(t, err)
	_, err = admit(s, blob(1))
	must(t, errors.Join(err, s.Close()))
	all, err := contents(t, base, "/root")
	if err != nil || !sameRecords(all, blobs(0, 2)) {
		t.Errorf("%d records, %v", len(all), err)
	}
}
