package profiletest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// Crashes runs work with the power cut at every call, and check with
// what is left of the machine for many survivors, and when the program alone
// was killed.
func Crashes(t *testing.T, base *crashfs.FS, work func(*crashfs.FS) error, check func(where string, after *crashfs.FS)) {
	t.Helper()
	for k := 1; ; k++ {
		run := base.Clone()
		run.CrashAt(k)
		err := work(run)
		if err != nil && !errors.Is(err, crashfs.ErrCrashed) {
			t.Fatalf("crash at call %d: %v", k, err)
		}
		check(fmt.Sprintf("killed at call %d", k), run.Clone())
		for _, left := range run.Survivors(6, uint64(k)) {
			check(fmt.Sprintf("power cut at call %d, kept %s of %q", k, left, run.Pending()), run.Crash(left))
		}
		if !run.Crashed() {
			return
		}
	}
}

// acknowledged are the batches that an interrupted program was told about.
type acknowledged struct {
	subject Subject
	batches [][][]byte
	upTo    int
}

func batchesToAdmit() [][][]byte {
	return [][][]byte{Blobs(10, 13), Blobs(13, 14), append(Blobs(14, 20), Blob(10))}
}

// run admits all batches to a root that exists.
func (a *acknowledged) run(fsys vfs.FS, dir string) error {
	a.batches, a.upTo = batchesToAdmit(), 0
	s, err := a.subject.OpenStore(context.Background(), fsys, dir)
	if err != nil {
		return err
	}
	for _, batch := range a.batches {
		if _, err := Admit(s, batch...); err != nil {
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
	if len(found) < least || len(found) > len(all) || !Same(found, all[:len(found)]) {
		return fmt.Errorf("%d records, which are not the first of %d with at least the %d acknowledged ones", len(found), len(all), least)
	}
	return nil
}

// Power cuts and kills at every call of opening, admitting and closing: the
// root opens and holds a prefix of what was admitted, with everything that was
// acknowledged; also when the opening after it is interrupted again.
func (s Subject) AdmissionSurvivesCrashes(t *testing.T) {
	base := Model()
	before := Blobs(0, 2)
	s.MakeRoot(t, base, Dir, before...)
	a := acknowledged{subject: s}
	turn := 0 // the opening is interrupted in every third state, at every fourth call
	Crashes(t, base, func(run *crashfs.FS) error { return a.run(run, Dir) }, func(where string, after *crashfs.FS) {
		turn++
		verify := func(where string, fsys *crashfs.FS) {
			found, err := s.Contents(t, fsys, Dir)
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
			if _, err := s.Contents(t, again, Dir); err != nil && !errors.Is(err, crashfs.ErrCrashed) {
				t.Fatalf("%s: %v", where, err)
			}
			for _, left := range []crashfs.Survivors{crashfs.None(), crashfs.All(), crashfs.Random(uint64(k))} {
				verify(fmt.Sprintf("%s, then again at call %d, kept %s", where, k, left), again.Crash(left))
			}
			if !again.Crashed() {
				break
			}
		}
		verify(where, after)
	})
}

// What an opening shows is durable: a power cut right after it takes nothing.
func (s Subject) WhatAnOpeningShowsIsDurable(t *testing.T) {
	base := Model()
	s.MakeRoot(t, base, Dir, Blobs(0, 2)...)
	a := acknowledged{subject: s}
	Crashes(t, base, func(run *crashfs.FS) error { return a.run(run, Dir) }, func(where string, after *crashfs.FS) {
		shown, err := s.Contents(t, after, Dir)
		Must(t, err)
		left, err := s.Contents(t, after.Crash(crashfs.None()), Dir)
		if err != nil || len(left) < len(shown) {
			t.Fatalf("%s: an opening showed %d records, %d are left (%v)", where, len(shown), len(left), err)
		}
	})
}

// Every sync fails once, the way Linux does, in every version of what the
// cache shows afterwards. The program dies, or goes on to reopen; then the
// power is cut.
func (s Subject) AdmissionSurvivesFailedSyncs(t *testing.T) {
	base := Model()
	before := Blobs(0, 2)
	s.MakeRoot(t, base, Dir, before...)
	for _, lie := range []crashfs.Lie{crashfs.CleanAndNew, crashfs.CleanAndOld, crashfs.ShutDown} {
		for at := 1; ; at++ {
			for seed := range uint64(2) {
				run := base.Clone()
				run.FailSync(at, lie, seed)
				a := acknowledged{subject: s}
				err := a.run(run, Dir)
				if run.SyncFailed() != (err != nil) {
					t.Fatalf("lie %d at %d: a failed sync (%v) was answered with %v", lie, at, run.SyncFailed(), err)
				}
				for _, next := range []*crashfs.FS{run.Clone(), run.Crash(crashfs.None()), run.Crash(crashfs.Random(seed))} {
					found, err := s.Contents(t, next, Dir)
					if err == nil {
						err = a.check(before, found)
					}
					if err != nil {
						t.Fatalf("lie %d at call %d, seed %d: %v", lie, at, seed, err)
					}
					left, err := s.Contents(t, next.Crash(crashfs.None()), Dir)
					if err != nil || len(left) < len(found) {
						t.Fatalf("lie %d at call %d, seed %d: %d records were shown, %d are left (%v)", lie, at, seed, len(found), len(left), err)
					}
				}
			}
			run := base.Clone()
			run.FailSync(at, lie, 0)
			a := acknowledged{subject: s}
			if a.run(run, Dir) == nil {
				break
			}
		}
	}
}

// Every write, sync and truncation of an admission fails, short and with
// every error, before and after it took effect. The same store goes on or
// refuses; reopening finds what was acknowledged, and what the store itself
// showed.
func (s Subject) ReconciliationAfterFailedCalls(t *testing.T) {
	for _, fault := range []faultfs.Fault{
		{Err: syscall.EIO}, {Err: syscall.EIO, After: true}, {Err: syscall.ENOSPC, After: true},
		{Err: syscall.ENOSPC}, {Err: syscall.ENOSPC, Short: 1}, {Err: syscall.ENOSPC, Short: 63},
		{Err: syscall.ENOSPC, Short: 64}, {Err: syscall.ENOSPC, Short: 130},
	} {
		fault.Match, fault.At = truthCalls, 1
		for s.failAdmission(t, fault) {
			fault.At++
		}
	}
}

func truthCalls(c faultfs.Call) bool {
	return faultfs.Changing(c) && (c.Path == root.RecordLog || c.Path == root.Records)
}

// failAdmission admits two batches with one fault and a third without. It
// reports whether the fault was hit.
func (s Subject) failAdmission(t *testing.T, fault faultfs.Fault) bool {
	t.Helper()
	base := Model()
	before := Blobs(0, 2)
	s.MakeRoot(t, base, Dir, before...)
	fsys := faultfs.New(base, Dir)
	b, err := s.OpenStore(t.Context(), fsys, Dir)
	Must(t, err)
	injected := fsys.Inject(fault)
	a := acknowledged{subject: s, batches: batchesToAdmit()}
	failed := false
	for _, batch := range a.batches {
		_, err := Admit(b, batch...)
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
	shown := uint64(b.Position())
	_, err = Admit(b, Blob(99))
	if syncFailed && err == nil {
		t.Fatalf("the store goes on after a failed sync: %s", where)
	}
	if err == nil {
		a.batches = append(a.batches, [][]byte{Blob(99)})
	}
	goesOn := err == nil
	Must(t, b.Close())
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %v: %s", leaks, where)
	}
	for _, next := range []*crashfs.FS{base.Clone(), base.Crash(crashfs.None())} {
		found, err := s.Contents(t, next, Dir)
		if err != nil {
			t.Fatalf("%v: %s", err, where)
		}
		if goesOn && failed {
			if last := len(found) - 1; last != int(shown) || !Same(found[last:], [][]byte{Blob(99)}) {
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
func (s Subject) FullDisk(t *testing.T) {
	for free := int64(512); free < 8<<10; free += 512 {
		fsys := crashfs.New(crashfs.Options{ReleaseAtOnce: true, FreeBytes: 4096 + free})
		b, err := s.Create(t.Context(), fsys, Dir)
		Must(t, err)
		var last error
		admitted := 0
		for n := 0; last == nil && n < 40; n++ {
			if _, last = Admit(b, Blob(n)); last == nil {
				admitted++
			}
		}
		if last != nil {
			Kind(t, last, store.NoSpace)
		}
		Must(t, b.Close())
		all, err := s.Contents(t, fsys, Dir)
		if err != nil || len(all) < admitted {
			t.Fatalf("%d bytes free: %d of %d records, %v", free, len(all), admitted, err)
		}
	}
}

// The making of rows anew is interrupted at every call.
func (s Subject) RestoringSurvivesCrashes(t *testing.T) {
	base := Model()
	s.MakeRoot(t, base, Dir, Blobs(0, 20)...)
	log := Get(t, base, at(root.RecordLog))
	Put(t, base, at(root.RecordLog), log[:512]+strings.Repeat("\x00", len(log)-512))
	open := func(fsys *crashfs.FS) error {
		_, err := s.Contents(t, fsys, Dir)
		return err
	}
	Crashes(t, base, open, func(where string, after *crashfs.FS) {
		all, err := s.Contents(t, after, Dir)
		if err != nil || !Same(all, Blobs(0, 20)) {
			t.Fatalf("%s: %d records, %v", where, len(all), err)
		}
		if Get(t, after.Crash(crashfs.None()), at(root.RecordLog)) != log {
			t.Fatalf("%s: the log is another one after a power cut", where)
		}
	})
}

// A torn row that was cut off stays so after a power cut.
func (s Subject) TruncationOfATornRowIsDurable(t *testing.T) {
	base := Model()
	s.MakeRoot(t, base, Dir, Blobs(0, 2)...)
	log := Get(t, base, at(root.RecordLog))
	Put(t, base, at(root.RecordLog), log+"torn")
	Crashes(t, base, func(run *crashfs.FS) error {
		b, err := s.OpenStore(t.Context(), run, Dir)
		if err != nil {
			return err
		}
		_, err = Admit(b, Blob(2))
		return errors.Join(err, b.Close())
	}, func(where string, after *crashfs.FS) {
		all, err := s.Contents(t, after, Dir)
		if err != nil || len(all) < 2 || !Same(all, Blobs(0, len(all))) {
			t.Fatalf("%s: %d records, %v", where, len(all), err)
		}
	})
}

func (s Subject) create(fsys vfs.FS, dir string) error {
	b, err := s.Create(context.Background(), fsys, dir)
	if err != nil {
		return err
	}
	return b.Close()
}

// A making that is interrupted at any call can be repeated, and what is
// admitted after that survives a power cut.
func (s Subject) InterruptedCreationIsFinished(t *testing.T) {
	finish := func(where string, after *crashfs.FS) {
		b, err := s.Create(t.Context(), after, Dir)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if _, err := Admit(b, Blob(1)); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		Must(t, b.Close())
		dark := after.Crash(crashfs.None())
		all, err := s.Contents(t, dark, Dir)
		if err != nil || !Same(all, Blobs(1, 2)) {
			t.Fatalf("%s, finished, and the power cut: %d records, %v", where, len(all), err)
		}
	}
	Crashes(t, Model(), func(run *crashfs.FS) error { return s.create(run, Dir) }, func(where string, after *crashfs.FS) {
		// An ordinary opening tells an unfinished root from a damaged one.
		look := after.Clone()
		err := s.operate(look, Dir)
		if err == nil {
			var b profile.Store
			if b, err = s.Profile.Open(t.Context(), Dir, profile.Options{FS: look, ReadOnly: true}); err == nil {
				err = b.Close()
			}
		}
		if err != nil && !errors.Is(err, store.NotRoot) {
			t.Fatalf("%s: %v", where, err)
		}
		finish(where, after.Clone())
	})
}

// The same with a second interruption during the repetition.
func (s Subject) InterruptedCreationIsFinishedAfterASecondCrash(t *testing.T) {
	work := func(run *crashfs.FS) error { return s.create(run, Dir) }
	Crashes(t, Model(), work, func(_ string, after *crashfs.FS) {
		for k := 1; k < 24; k += 3 {
			again := after.Clone()
			again.CrashAt(k)
			_ = work(again) // whatever it says, the machine is down or done
			for _, left := range []crashfs.Survivors{crashfs.None(), crashfs.All(), crashfs.Random(uint64(k))} {
				if err := work(again.Crash(left)); err != nil {
					t.Fatalf("second crash at call %d, kept %s: %v", k, left, err)
				}
			}
		}
	})
}

// IndexPublicationSurvivesCrashes interrupts the building and publication of a
// posting list at every call. The root opens, has its records, and every query
// has the answer of a scan.
func (s Subject) IndexPublicationSurvivesCrashes(t *testing.T) {
	base := Model()
	s.MakeRoot(t, base, Dir, Blobs(0, 5)...)
	work := func(run *crashfs.FS) error {
		b, err := s.OpenStore(context.Background(), run, Dir)
		if err != nil {
			return err
		}
		err = Ask(b, 2)
		if err == nil {
			_, err = Admit(b, Blob(5))
		}
		if err == nil {
			err = Ask(b, 8) // often enough for publishing the list that has grown
		}
		return errors.Join(err, b.Close())
	}
	Crashes(t, base, work, func(where string, after *crashfs.FS) {
		b, err := s.OpenStore(t.Context(), after, Dir)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		got, err := b.Execute(store.FindRecords{
			Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
			UpperInclusive: store.Latest, MaxRows: store.Unbounded,
		})
		if err != nil || len(got.(store.FoundResult).Records) != int(b.Position()) || b.Position() < 5 {
			t.Fatalf("%s: %v finds other than the %d records (%v)", where, got, b.Position(), err)
		}
		Must(t, b.Close())
	})
}

func at(name string) string { return filepath.Join(Dir, name) }
