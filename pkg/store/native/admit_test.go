package native_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
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

// acknowledged are the batches that an interrupted program was told about.
type acknowledged struct {
	batches [][][]byte
	upTo    int
}

func batchesToAdmit() [][][]byte {
	return [][][]byte{blobs(10, 13), blobs(13, 14), append(blobs(14, 20), blob(10))}
}

// run admits all batches to a root that exists.
func (a *acknowledged) run(fsys vfs.FS, dir string) error {
	a.batches, a.upTo = batchesToAdmit(), 0
	s, err := native.Open(context.Background(), dir, native.Options{FS: fsys})
	if err != nil {
		return err
	}
	for _, batch := range a.batches {
		if _, err := admit(s, batch...); err != nil {
			return errors.Join(err, s.Close())
		}
		a.upTo++
	}
	return s.Close()
}

// check says what is wrong with the records of a root: it must hold what it
// held before, every acknowledged batch whole, and beyond them only a prefix
// of what was being admitted.
func (a *acknowledged) check(before, found [][]byte) error {
	all := before
	least := len(before)
	for i, batch := range a.batches {
		all = append(all[:len(all):len(all)], batch...)
		if i < a.upTo {
			least = len(all)
		}
	}
	all = all[:len(before)+10] // the last one repeats the first
	least = min(least, len(all))
	if len(found) < least || len(found) > len(all) || !sameRecords(found, all[:len(found)]) {
		return fmt.Errorf("%d records, which are not the first of %d with at least the %d acknowledged ones", len(found), len(all), least)
	}
	return nil
}

// Power cuts and kills at every call of opening, admitting and closing: the
// root opens and holds a prefix of what was admitted, with everything that was
// acknowledged; also when the opening after it is interrupted again.
func TestAdmissionSurvivesCrashes(t *testing.T) {
	base := model()
	before := blobs(0, 2)
	build(t, base, "/root", before...)
	var a acknowledged
	turn := 0 // the opening is interrupted in every third state, at every fourth call
	crashes(t, base, func(run *crashfs.FS) error { return a.run(run, "/root") }, func(where string, after *crashfs.FS) {
		turn++
		verify := func(where string, fsys *crashfs.FS) {
			found, err := contents(t, fsys, "/root")
			if err == nil {
				err = a.check(before, found)
			}
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
		}
		for k := 1 + turn%4; turn%3 == 0; k += 4 {
			again := after.Clone()
			again.CrashAt(k)
			if _, err := contents(t, again, "/root"); err != nil && !errors.Is(err, crashfs.ErrCrashed) {
				t.Fatalf("%s: %v", where, err)
			}
			for _, s := range []crashfs.Survivors{crashfs.None(), crashfs.All(), crashfs.Random(uint64(k))} {
				verify(fmt.Sprintf("%s, then again at call %d, kept %s", where, k, s), again.Crash(s))
			}
			if !again.Crashed() {
				break
			}
		}
		verify(where, after)
	})
}

// What an opening shows is durable: a power cut right after it takes nothing.
func TestWhatAnOpeningShowsIsDurable(t *testing.T) {
	base := model()
	build(t, base, "/root", blobs(0, 2)...)
	var a acknowledged
	crashes(t, base, func(run *crashfs.FS) error { return a.run(run, "/root") }, func(where string, after *crashfs.FS) {
		shown, err := contents(t, after, "/root")
		must(t, err)
		left, err := contents(t, after.Crash(crashfs.None()), "/root")
		if err != nil || len(left) < len(shown) {
			t.Fatalf("%s: an opening showed %d records, %d are left (%v)", where, len(shown), len(left), err)
		}
	})
}

// Every sync fails once, the way Linux does, in every version of what the
// cache shows afterwards. The program dies, or goes on to reopen; then the
// power is cut.
func TestAdmissionSurvivesFailedSyncs(t *testing.T) {
	base := model()
	before := blobs(0, 2)
	build(t, base, "/root", before...)
	for _, lie := range []crashfs.Lie{crashfs.CleanAndNew, crashfs.CleanAndOld, crashfs.ShutDown} {
		for at := 1; ; at++ {
			for seed := range uint64(2) {
				run := base.Clone()
				run.FailSync(at, lie, seed)
				var a acknowledged
				err := a.run(run, "/root")
				if run.SyncFailed() != (err != nil) {
					t.Fatalf("lie %d at %d: a failed sync (%v) was answered with %v", lie, at, run.SyncFailed(), err)
				}
				for _, next := range []*crashfs.FS{run.Clone(), run.Crash(crashfs.None()), run.Crash(crashfs.Random(seed))} {
					found, err := contents(t, next, "/root")
					if err == nil {
						err = a.check(before, found)
					}
					if err != nil {
						t.Fatalf("lie %d at call %d, seed %d: %v", lie, at, seed, err)
					}
					left, err := contents(t, next.Crash(crashfs.None()), "/root")
					if err != nil || len(left) < len(found) {
						t.Fatalf("lie %d at call %d, seed %d: %d records were shown, %d are left (%v)", lie, at, seed, len(found), len(left), err)
					}
				}
			}
			run := base.Clone()
			run.FailSync(at, lie, 0)
			var a acknowledged
			if a.run(run, "/root") == nil {
				break
			}
		}
	}
}

// Every write, sync and truncation of an admission fails, short and with
// every error, before and after it took effect. The same store goes on or
// refuses; reopening finds what was acknowledged, and what the store itself
// showed.
func TestReconciliationAfterFailedCalls(t *testing.T) {
	for _, fault := range []faultfs.Fault{
		{Err: syscall.EIO}, {Err: syscall.EIO, After: true}, {Err: syscall.ENOSPC, After: true},
		{Err: syscall.ENOSPC}, {Err: syscall.ENOSPC, Short: 1}, {Err: syscall.ENOSPC, Short: 63},
		{Err: syscall.ENOSPC, Short: 64}, {Err: syscall.ENOSPC, Short: 130},
	} {
		fault.Match, fault.At = truthCalls, 1
		for failAdmission(t, fault) {
			fault.At++
		}
	}
}

func truthCalls(c faultfs.Call) bool {
	return faultfs.Changing(c) && (c.Path == root.RecordLog || c.Path == root.Records)
}

// failAdmission admits two batches with one fault and a third without. It
// reports whether the fault was hit.
func failAdmission(t *testing.T, fault faultfs.Fault) bool {
	t.Helper()
	base := model()
	before := blobs(0, 2)
	build(t, base, "/root", before...)
	fsys := faultfs.New(base, "/root")
	s, err := native.Open(t.Context(), "/root", native.Options{FS: fsys})
	must(t, err)
	injected := fsys.Inject(fault)
	a := acknowledged{batches: batchesToAdmit()}
	failed := false
	for _, batch := range a.batches {
		_, err := admit(s, batch...)
		if err == nil && !failed {
			a.upTo++
		}
		failed = failed || err != nil
		if errors.Is(fault.Err, syscall.ENOSPC) && err != nil && errors.Is(err, fault.Err) && !errors.Is(err, store.NoSpace) {
			t.Errorf("%v is no NoSpace", err)
		}
		if failed {
			break
		}
	}
	where := fmt.Sprintf("call %d (%v, after: %v, short %d)\n%s", fault.At, fault.Err, fault.After, fault.Short, fsys.Transcript(truthCalls))
	if (injected.Fired() > 0) != failed {
		t.Fatalf("the failure was answered with success: %s", where)
	}
	syncFailed := fsys.Count(func(c faultfs.Call) bool { return c.Op == faultfs.Sync && c.Err != nil }) > 0
	injected.Remove()
	shown := uint64(s.Position())
	_, err = admit(s, blob(99))
	if syncFailed && err == nil {
		t.Fatalf("the store goes on after a failed sync: %s", where)
	}
	if err == nil {
		a.batches = append(a.batches, [][]byte{blob(99)})
	}
	goesOn := err == nil
	must(t, s.Close())
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %v: %s", leaks, where)
	}
	for _, next := range []*crashfs.FS{base.Clone(), base.Crash(crashfs.None())} {
		found, err := contents(t, next, "/root")
		if err != nil {
			t.Fatalf("%v: %s", err, where)
		}
		if goesOn && failed {
			if last := len(found) - 1; last != int(shown) || !sameRecords(found[last:], [][]byte{blob(99)}) {
				t.Fatalf("%d records, want the %d shown and one admitted since: %s", len(found), shown, where)
			}
			found = found[:shown]
			a.batches = a.batches[:3]
		}
		if goesOn && !failed {
			found = found[:len(found)-1]
			a.batches = a.batches[:3]
		}
		if err := a.check(before, found); err != nil {
			t.Fatalf("%v: %s", err, where)
		}
	}
	return failed
}

// A disk that is full at any byte leaves the root as it was.
func TestFullDisk(t *testing.T) {
	for free := int64(512); free < 8<<10; free += 512 {
		fsys := crashfs.New(crashfs.Options{ReleaseAtOnce: true, FreeBytes: 4096 + free})
		s, err := native.Create(t.Context(), "/root", native.Options{FS: fsys, Capacity: minCapacity})
		must(t, err)
		var last error
		admitted := 0
		for n := 0; last == nil && n < 40; n++ {
			if _, last = admit(s, blob(n)); last == nil {
				admitted++
			}
		}
		if last != nil {
			kind(t, last, store.NoSpace)
		}
		must(t, s.Close())
		all, err := contents(t, fsys, "/root")
		if err != nil || len(all) < admitted {
			t.Fatalf("%d bytes free: %d of %d records, %v", free, len(all), admitted, err)
		}
	}
}

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
