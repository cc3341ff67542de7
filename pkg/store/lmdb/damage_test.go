//go:build cgo

package lmdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Ordinary open fails while a compaction runs, once the bounded retry of the
// bootstrap lock has expired, and succeeds after it.
func TestOpeningDuringCompaction(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 10)...)
	must(t, s.Close())
	_, err := lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), func(ctx context.Context, b store.Backend) (*kept.Set, error) {
		for _, readOnly := range []bool{false, true} {
			_, err := lmdb.Quick().Open(ctx, dir, profile.Options{FS: fsys, ReadOnly: readOnly})
			requireBusy(t, err)
		}
		return keeping(even)(ctx, b)
	})
	must(t, err)
	sameRecords(t, contents(t, fsys, dir), everySecond(blobs(0, 10)))
}

// interruptedRoot is one whose reload was stopped before its second commit.
func interruptedRoot(t *testing.T) (fsys vfs.FS, dir string) {
	t.Helper()
	fsys, dir, s := newRoot(t, blobs(0, 20)...)
	must(t, s.Close())
	p, stop := stopAt(8, false)
	if _, err := p.Compact(t.Context(), dir, compactOptions(fsys), keeping(even)); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	return fsys, dir
}

// A torn state and a plan that is missing or short are CorruptStore; nothing is
// guessed and nothing changed.
func TestDamageIsCorruptStore(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"torn state":   func(dir string) error { return os.WriteFile(filepath.Join(dir, root.State), []byte("reloa"), 0o666) },
		"empty state":  func(dir string) error { return os.WriteFile(filepath.Join(dir, root.State), nil, 0o666) },
		"missing plan": func(dir string) error { return os.Remove(filepath.Join(dir, root.Plan)) },
		"short plan":   func(dir string) error { return os.Truncate(filepath.Join(dir, root.Plan), 100) },
		"cursor beyond the plan": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, root.State), []byte("reload 11\n"), 0o666)
		},
		"move again, of rows that are gone": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, root.State), []byte("move 0\n"), 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := interruptedRoot(t)
			must(t, damage(dir))
			_, err := lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys))
			if !errors.Is(err, store.CorruptStore) {
				t.Errorf("resume: %v", err)
			}
			refusesOpening(t, fsys, dir)
		})
	}
}

// A reload that begins again proves first that every record is there: the old
// rows are the only other thing that could tell.
func TestRestartedReloadLooksBeforeItEmpties(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 20)...)
	must(t, s.Close())
	p, _ := stopAt(4, false)
	if _, err := p.Compact(t.Context(), dir, compactOptions(fsys), keeping(even)); err == nil {
		t.Fatal("the reload was not stopped")
	}
	f, err := fsys.OpenFile(filepath.Join(dir, root.Records), vfs.ReadWrite)
	must(t, err)
	_, err = f.WriteAt([]byte("x"), 0)
	must(t, errors.Join(err, f.Close()))
	_, err = lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys))
	if !errors.Is(err, store.CorruptStore) {
		t.Errorf("resume: %v", err)
	}
	x, err := lmdb.Quick().Examine(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	if got := x.Table().Position(); got != 20 {
		t.Errorf("the database has %d rows, want the 20 old ones", got)
	}
	must(t, x.Close())
}

// A compaction that is refused has changed nothing.
func TestRefusedCompactionChangesNothing(t *testing.T) {
	subject.Refused(t, map[string]func(*testing.T, vfs.FS, string){"leftovers": profiletest.Leftovers})
}

// A resume with nothing to finish says so of a sound root, and tells of a
// damaged one.
func TestResumeReportsDamage(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 5)...)
	must(t, s.Close())
	report, err := lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys))
	if err != nil || report.Outcome != compact.NothingToDo {
		t.Errorf("a sound root: %+v, %v", report, err)
	}
	b, err := lmdb.Quick().Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	must(t, errors.Join(lmdb.LoseRow(b.(*lmdb.Store), 3), b.Close()))
	if _, err := lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys)); !errors.Is(err, store.CorruptStore) {
		t.Errorf("a root that lost a row: %v", err)
	}
	must(t, os.Truncate(filepath.Join(dir, root.Records), 12345))
	if _, err := lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys)); !errors.Is(err, store.CorruptStore) {
		t.Errorf("an arena of no capacity: %v", err)
	}
}

// A check finds what the databases lack and what they have too much.
func TestCheckIndexesFinds(t *testing.T) {
	for name, c := range map[string]struct {
		damage         func(*lmdb.Store) error
		missing, extra uint64
		says           string
	}{
		"nothing":        {func(*lmdb.Store) error { return nil }, 0, 0, ""},
		"lost posting":   {func(s *lmdb.Store) error { return lmdb.LosePosting(s, 3) }, 1, 0, "lacks record #3"},
		"extra posting":  {func(s *lmdb.Store) error { return lmdb.AddPosting(s, 2) }, 0, 1, "names record #2"},
		"strange key":    {lmdb.AddStrangeKey, 0, 1, "key ff"},
		"lost hash":      {func(s *lmdb.Store) error { return lmdb.LoseHash(s, 2) }, 1, 0, "which is record #2"},
		"exchanged hash": {func(s *lmdb.Store) error { return lmdb.ExchangeHash(s, 2) }, 1, 0, "want record #2"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir, s := newRoot(t, blobs(0, 5)...)
			must(t, errors.Join(c.damage(s), s.Close()))
			x, err := lmdb.Quick().Examine(t.Context(), dir, profile.Options{FS: fsys})
			must(t, err)
			checked, err := x.CheckIndexes(t.Context())
			must(t, errors.Join(err, x.Close()))
			var missing, extra uint64
			var says []string
			for _, f := range checked.Findings {
				missing, extra, says = missing+f.Missing, extra+f.Extra, append(says, f.Err.Error())
			}
			if missing != c.missing || extra != c.extra || !strings.Contains(strings.Join(says, "\n"), c.says) {
				t.Errorf("%d missing, %d extra: %q", missing, extra, says)
			}
		})
	}
}

// Values whose keys LMDB cannot hold are found all the same: through the
// presence of their field, or by a scan.
func TestLongKeysAreScanned(t *testing.T) {
	_, _, s := newRoot(t)
	long, name := strings.Repeat("v", 600), strings.Repeat("N", 520)
	a := storetest.Plex("a", storetest.Header{Name: "Long", Value: long}, storetest.Header{Name: name, Value: "x"})
	b := storetest.Plex("b", storetest.Header{Name: "Long", Value: long + "w"})
	_, err := s.Execute(store.StoreRecords{Records: []store.NewRecord{a.New(), b.New()}})
	must(t, err)
	for _, c := range []struct {
		constraint store.Constraint
		want       store.RecordID
		visits     uint64
	}{
		{store.Constraint{Shape: store.FieldExact, Name: "Long", Value: long}, 1, 2},
		{store.Constraint{Shape: store.FieldExact, Name: "Long", Value: long + "w"}, 2, 2},
		{store.Constraint{Shape: store.FieldPresence, Name: name}, 1, 2},
		{store.Constraint{Shape: store.FieldPrefix, Name: "Long", Value: long + "w"}, 2, 2},
	} {
		before := s.CandidatesVisited()
		got, err := s.Execute(store.FindRecords{Query: store.Query{Constraints: []store.Constraint{c.constraint}}, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
		must(t, err)
		found := got.(store.FoundResult).Records
		if len(found) != 1 || found[0].ID != c.want || s.CandidatesVisited()-before != c.visits {
			t.Errorf("%.40v finds %d records with %d visits", c.constraint, len(found), s.CandidatesVisited()-before)
		}
	}
}

// A map that is full grows, and what was written stays.
func TestMapGrows(t *testing.T) {
	fsys, dir, s := newRoot(t)
	must(t, s.Close())
	small := lmdb.Quick().Mapping(1 << 18)
	b, err := small.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	all := blobs(0, 1500)
	for _, batch := range [][][]byte{all[:500], all[500:1000], all[1000:]} {
		_, err := b.Execute(storeOp(batch...))
		must(t, err)
	}
	sameRecords(t, load(t, b), all)
	must(t, b.Close())
	sameRecords(t, contents(t, fsys, dir), all)
}

// Making a root that was interrupted is finished; a root that lost a part of
// its truth is refused.
func TestEveryStateOfTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		kind  error // of opening; nil is well
		made  bool  // by creating
	}{
		"marker alone": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, root.Records)), os.Remove(filepath.Join(dir, root.LMDBData)), os.Remove(filepath.Join(dir, root.ArenaLock)))
		}, store.NotRoot, true},
		"no arena":       {func(dir string) error { return os.Remove(filepath.Join(dir, root.Records)) }, store.NotRoot, true},
		"unsized arena":  {func(dir string) error { return os.Truncate(filepath.Join(dir, root.Records), 0) }, store.NotRoot, true},
		"no environment": {func(dir string) error { return os.Remove(filepath.Join(dir, root.LMDBData)) }, store.CorruptStore, false},
		"odd capacity":   {func(dir string) error { return os.Truncate(filepath.Join(dir, root.Records), 12345) }, store.CorruptStore, false},
		"foreign data.mdb": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, root.LMDBData), make([]byte, 8192), 0o666)
		}, store.CorruptStore, false},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir, s := newRoot(t)
			must(t, errors.Join(s.Close(), c.spoil(dir)))
			opts := profile.Options{FS: fsys, Capacity: minCapacity}
			if _, err := lmdb.Quick().Open(t.Context(), dir, opts); !errors.Is(err, c.kind) {
				t.Errorf("open: %v", err)
			}
			b, err := lmdb.Quick().Create(t.Context(), dir, opts)
			if c.made != (err == nil) {
				t.Errorf("create: %v", err)
			}
			if err == nil {
				must(t, b.Close())
				sameRecords(t, contents(t, fsys, dir), nil)
			}
		})
	}
	fsys, dir, s := newRoot(t, blobs(0, 2)...)
	must(t, errors.Join(s.Close(), os.Remove(filepath.Join(dir, root.Records))))
	for _, open := range []func(context.Context, string, profile.Options) (profile.Store, error){lmdb.Quick().Open, lmdb.Quick().Create} {
		if _, err := open(t.Context(), dir, profile.Options{FS: fsys, Capacity: minCapacity}); !errors.Is(err, store.CorruptStore) {
			t.Errorf("rows without an arena: %v", err)
		}
	}
}
