//go:build cgo

package lmdb_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// keeping chooses the ids that keep says.
func keeping(keep func(id store.RecordID) bool) profile.Choose {
	return func(_ context.Context, b store.Backend) (*kept.Set, error) {
		got, err := b.Execute(store.CurrentStorePosition{})
		if err != nil {
			return nil, err
		}
		set := kept.New(got.(store.PositionResult).Position)
		for id := store.RecordID(1); store.Position(id) <= set.Boundary(); id++ {
			if keep(id) {
				set.Add(id)
			}
		}
		return set, nil
	}
}

func even(id store.RecordID) bool { return id%2 == 0 }

// load returns the bytes of every record, in id order, each verified.
func load(t testing.TB, b store.Backend) (all [][]byte) {
	t.Helper()
	got, err := b.Execute(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	must(t, err)
	for i, rec := range got.(store.FoundResult).Records {
		if rec.ID != store.RecordID(i+1) {
			t.Fatalf("record %d has the id %d", i, rec.ID)
		}
		must(t, record.VerifyBytes(rec.Bytes, rec.Hash))
		all = append(all, bytes.Clone(rec.Bytes))
		runtime.KeepAlive(rec)
	}
	return all
}

// contents opens a root for writing, and checks its records, postings and
// position.
func contents(t testing.TB, fsys vfs.FS, dir string) [][]byte {
	t.Helper()
	s, err := lmdb.Quick().Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	all := load(t, s)
	if s.Position() != store.Position(len(all)) {
		t.Errorf("position %d of %d records", s.Position(), len(all))
	}
	must(t, s.Close())
	checkIndexes(t, fsys, dir)
	return all
}

// checkIndexes requires that the databases are what a scan finds.
func checkIndexes(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	x, err := lmdb.Quick().Examine(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	must(t, x.Damage())
	checked, err := x.CheckIndexes(t.Context())
	must(t, errors.Join(err, x.Close()))
	if len(checked.Findings) > 0 || checked.Lists == 0 && x.Table().Position() > 0 {
		t.Errorf("checked %+v", checked)
	}
}

func everySecond(all [][]byte) (half [][]byte) {
	for i := 1; i < len(all); i += 2 {
		half = append(half, all[i])
	}
	return half
}

func sameRecords(t testing.TB, got, want [][]byte) {
	t.Helper()
	if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) || len(got) != len(want) {
		t.Errorf("%d records, want %d, or other bytes", len(got), len(want))
	}
}

func compactOptions(fsys vfs.FS) profile.CompactOptions {
	return profile.CompactOptions{Open: profile.Options{FS: fsys}}
}

// TestCompaction: the kept set, and everything that goes on afterwards; data.mdb
// does not shrink, and the report says so.
func TestCompaction(t *testing.T) {
	report := subject.Compaction(t, osfs.New(), filepath.Join(t.TempDir(), "root"), compact.Punched)
	if !strings.Contains(report.Unshrunk, root.LMDBData) {
		t.Errorf("the report says %q of what does not shrink", report.Unshrunk)
	}
}

// TestCompactReleasesStorage: the file system takes the tail back.
func TestCompactReleasesStorage(t *testing.T) {
	_, dir, s := newRoot(t, blobs(0, 300)...)
	must(t, s.Close())
	report, err := lmdb.Quick().Compact(t.Context(), dir, compactOptions(osfs.New()), keeping(even))
	must(t, err)
	if freed := int64(report.AllocatedBefore) - int64(report.AllocatedAfter); report.Release == compact.Punched && freed < int64(report.Released)-(64<<10) || report.AllocatedAfter >= report.AllocatedBefore {
		t.Errorf("released %d bytes, %d allocated before and %d after", report.Released, report.AllocatedBefore, report.AllocatedAfter)
	}
}

// stopAt ends a reload with an error before or after the commit of that many
// rows.
func stopAt(rows uint64, committed bool) (lmdb.Profile, error) {
	stop := errors.New("stopped by the test")
	return lmdb.Reloading(4, func(n uint64, done bool) error {
		if n == rows && done == committed {
			return stop
		}
		return nil
	}), stop
}

// A reload is resumed behind the last committed batch, and begun again when
// none was committed. Ordinary open refuses meanwhile.
func TestReloadIsResumed(t *testing.T) {
	all := blobs(0, 41)
	for rows := uint64(4); rows <= 20; rows += 4 {
		for _, committed := range []bool{false, true} {
			fsys, dir, s := newRoot(t, all...)
			must(t, s.Close())
			p, stop := stopAt(rows, committed)
			if _, err := p.Compact(t.Context(), dir, compactOptions(fsys), keeping(even)); !errors.Is(err, stop) {
				t.Fatalf("at %d: %v", rows, err)
			}
			refusesOpening(t, fsys, dir)
			var reloaded []uint64
			resuming := lmdb.Reloading(4, func(n uint64, done bool) error {
				if done {
					reloaded = append(reloaded, n)
				}
				return nil
			})
			var told []uint64
			opts := compactOptions(fsys)
			opts.Run.Progress = func(p compact.Progress) {
				if p.Phase == "reload" {
					told = append(told, p.Done)
				}
			}
			report, err := resuming.Resume(t.Context(), dir, opts)
			must(t, err)
			first := rows
			if committed {
				first += 4
			}
			if len(told) == 0 || told[0] != first-4 || told[len(told)-1] != 20 {
				t.Errorf("at %d, %v: the progress is %v, want from %d to 20", rows, committed, told, first-4)
			}
			if report.Outcome != compact.Resumed || rows < 20 && (len(reloaded) == 0 || reloaded[0] != first) {
				t.Errorf("at %d, %v: %s, batches %v", rows, committed, report.Outcome, reloaded)
			}
			sameRecords(t, contents(t, fsys, dir), everySecond(all))
		}
	}
}

func refusesOpening(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	for _, readOnly := range []bool{false, true} {
		_, err := lmdb.Quick().Open(t.Context(), dir, profile.Options{FS: fsys, ReadOnly: readOnly})
		var known *store.Error
		if !errors.As(err, &known) || known.Kind != store.NeedsResume || known.Hint != "lace resume "+dir {
			t.Errorf("opening: %v", err)
		}
	}
}

// A stop on request takes effect before the next batch of a reload.
func TestReloadStopsOnRequest(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 40)...)
	must(t, s.Close())
	ctx, cancel := context.WithCancel(t.Context())
	p := lmdb.Reloading(4, func(n uint64, done bool) error {
		if n == 8 && done {
			cancel()
		}
		return nil
	})
	if _, err := p.Compact(ctx, dir, compactOptions(fsys), keeping(even)); !errors.Is(err, store.Interrupted) {
		t.Errorf("compact: %v", err)
	}
	x, err := lmdb.Quick().Examine(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	status, err := x.Status()
	must(t, err)
	proof, err := x.Prove(t.Context(), nil)
	must(t, errors.Join(err, x.Close()))
	if status.State.Phase != "reload" || status.Percent != 100 || proof.Rows != 20 || len(proof.Lost) > 0 {
		t.Errorf("status %+v, proof %+v", status, proof)
	}
	_, err = lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys))
	must(t, err)
	sameRecords(t, contents(t, fsys, dir), everySecond(blobs(0, 40)))
}
