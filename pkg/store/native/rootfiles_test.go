package native_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// Ordinary open rejects every file of a compaction and every temporary, and
// says what resumes.
func TestCompactionFilesNeedResume(t *testing.T) {
	for _, name := range root.CompactionEntries() {
		fsys, dir := newRoot(t, blob(1))
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		unchanged(t, dir, func() {
			for _, o := range openers[:3] {
				err := o.open(t, fsys, dir)
				kind(t, err, store.NeedsResume, name)
				var e *store.Error
				if !errors.As(err, &e) || e.Hint != "lace resume "+dir {
					t.Errorf("%s, %s: hint of %+v", name, o.name, e)
				}
			}
		})
	}
}

// Files without a state are removed, unread, when the root passes the checks of
// an ordinary opening.
func TestFilesWithoutAStateAreClearedFromASoundRoot(t *testing.T) {
	for _, name := range root.CompactionEntries() {
		if name == root.State {
			continue
		}
		for _, o := range openers[4:] {
			fsys, dir := newRoot(t, blobs(0, 3)...)
			must(t, os.WriteFile(filepath.Join(dir, name), []byte("not even a plan"), 0o666))
			must(t, o.open(t, fsys, dir))
			if slices.Contains(names(t, dir), name) {
				t.Errorf("%s leaves %s", o.name, name)
			}
			all, err := contents(t, fsys, dir)
			if err != nil || !sameRecords(all, blobs(0, 3)) {
				t.Errorf("%s, %s: %d records, %v", name, o.name, len(all), err)
			}
		}
	}
}

func TestFilesWithoutAStateStayInADamagedRoot(t *testing.T) {
	for what, damage := range map[string]func(t *testing.T, dir string){
		"row": func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, root.RecordLog), profiletest.SetByte(70, '!'))
		},
		"glyph": func(t *testing.T, dir string) { edit(t, filepath.Join(dir, root.Records), profiletest.SetByte(3, '!')) },
	} {
		for _, name := range []string{root.Plan, root.Journal, root.Plan + ".lace-tmp", root.RecordLog + ".lace-tmp"} {
			fsys, dir := newRoot(t, blobs(0, 3)...)
			must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666))
			damage(t, dir)
			unchanged(t, dir, func() {
				for _, o := range openers[4:] {
					if err := o.open(t, fsys, dir); !errors.Is(err, store.CorruptStore) {
						t.Errorf("%s beside a bad %s, %s: %v", name, what, o.name, err)
					}
				}
			})
		}
	}
}

func TestUnusableStateIsCorrupt(t *testing.T) {
	for _, state := range []string{"", "move", "move 0", "move 01\n", "move -1\n", "move 0\n\n", "reload 0\n", "move 0\n"} {
		fsys, dir := newRoot(t, blobs(0, 3)...)
		must(t, os.WriteFile(filepath.Join(dir, root.State), []byte(state), 0o666))
		unchanged(t, dir, func() {
			for _, o := range openers[4:] {
				if err := o.open(t, fsys, dir); !errors.Is(err, store.CorruptStore) {
					t.Errorf("state %q without a plan, %s: %v", state, o.name, err)
				}
			}
		})
	}
}

// bareRoot is a root on what could be a read-only mount: no lock files, nothing
// that can be written, and leftovers that only a writer cleans.
func bareRoot(t *testing.T) (fsys *faultfs.FS, dir string) {
	t.Helper()
	quick, dir := newRoot(t, blobs(0, 5)...)
	for _, name := range []string{root.Lock, root.ArenaLock} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	must(t, os.MkdirAll(filepath.Join(dir, root.Staging, "1"), 0o777))
	must(t, os.MkdirAll(filepath.Join(dir, "indexes-v1"), 0o777))
	edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(b, 'T', '.') })
	for _, name := range []string{root.Marker, root.RecordLog, root.Records} {
		must(t, os.Chmod(filepath.Join(dir, name), 0o444))
	}
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o777) })
	return faultfs.New(quick, dir), dir
}

func TestReadOnlyOpeningWritesNothing(t *testing.T) {
	fsys, dir := bareRoot(t)
	unchanged(t, dir, func() {
		s, err := native.Open(t.Context(), dir, native.Options{FS: fsys, ReadOnly: true})
		must(t, err)
		all, err := load(s)
		if err != nil || !sameRecords(all, blobs(0, 5)) || s.TornBytes() != 2 {
			t.Errorf("%d records, %d torn bytes, %v", len(all), s.TornBytes(), err)
		}
		for range 3 { // often enough for a list
			_, err := s.Execute(store.FindRecords{
				Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
				UpperInclusive: store.Latest, MaxRows: store.Unbounded,
			})
			must(t, err)
		}
		_, err = admit(s, blob(9))
		kind(t, err, store.Integration, "read-only")
		_, err = s.Stage(storeOp(blob(9)).Records[0].Hash, 1, strings.NewReader(""))
		kind(t, err, store.Integration, "read-only")
		// Without lock files too, the reader owns the root.
		kind(t, openers[2].open(t, fsys, dir), store.Busy)
		done := s.MappingReleased()
		must(t, s.Close())
		s = nil
		released(t, done)
		must(t, openers[3].open(t, fsys, dir))
	})
	if calls := fsys.Transcript(faultfs.Changing); calls != "" {
		t.Errorf("a reader did\n%s", calls)
	}
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %v", leaks)
	}
}

// A writer removes what earlier processes staged and the lists of every other
// projection, and nothing else.
func TestOpeningCleans(t *testing.T) {
	fsys, dir := newRoot(t, blob(1))
	for _, path := range []string{"staging/1/7", "staging/x/y/z", "indexes-v1/a/b.ids", "indexes-v3/c.ids", "indexes-/d", "indexes-v2/e.ids", "notes/indexes-v1"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, path), []byte("x"), 0o666))
	}
	must(t, openers[1].open(t, fsys, dir))
	if got, want := strings.Join(names(t, dir), " "), "arena-lock indexes-v2 lock notes record-log records store-format"; got != want {
		t.Errorf("entries %q, want %q", got, want)
	}
}

func TestStaging(t *testing.T) {
	fsys, dir := newRoot(t, blob(0))
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	var op store.StoreRecords
	var staged []profile.Staged
	for n := 1; n < 4; n++ {
		rec := blob(n)
		one, err := s.Stage(storeOp(rec).Records[0].Hash, uint64(len(rec)), bytes.NewReader(rec))
		must(t, err)
		staged = append(staged, one)
		op.Records = append(op.Records, one.Record())
	}
	if got := names(t, filepath.Join(dir, root.Staging, "1")); len(got) != 3 {
		t.Errorf("staged files %v", got)
	}
	_, err = s.Execute(op)
	must(t, err)
	for i, one := range staged {
		must(t, errors.Join(one.Release(), one.Release()))
		if got := names(t, filepath.Join(dir, root.Staging, "1")); len(got) != 2-i {
			t.Errorf("%d released, left %v", i+1, got)
		}
	}
	must(t, s.Close())
	if slices.Contains(names(t, dir), root.Staging) {
		t.Error("a closed store leaves its staging")
	}
	all, err := contents(t, fsys, dir)
	if err != nil || !sameRecords(all, blobs(0, 4)) {
		t.Errorf("%d records, %v", len(all), err)
	}
}

// What cannot be proven is not staged, and leaves no file.
func TestStagingVerifies(t *testing.T) {
	base, dir := newRoot(t, blob(0))
	fsys := faultfs.New(base, dir)
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	rec, hash := blob(1), storeOp(blob(1)).Records[0].Hash
	damaged := bytes.Clone(rec)
	damaged[len(damaged)-1]++
	for name, c := range map[string]struct {
		hash   record.Hash
		length uint64
		bytes  []byte
		kind   error
	}{
		"damaged":       {hash, uint64(len(rec)), damaged, store.Integration},
		"another":       {hash, uint64(len(blob(2))), blob(2), store.Integration},
		"short":         {hash, uint64(len(rec)), rec[:60], io.EOF},
		"cut":           {hash, uint64(len(rec)) - 1, rec, store.Integration},
		"empty":         {hash, 0, rec, store.Integration},
		"beyond limits": {hash, record.MaxRecordLen + 1, rec, store.Integration},
	} {
		if _, err := s.Stage(c.hash, c.length, bytes.NewReader(c.bytes)); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, filepath.Join(dir, root.Staging, "1")); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	must(t, s.Close())
	s = nil
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %v", leaks)
	}
}

// A staged record that dies with its process is gone at the next opening.
func TestStagedRecordsAreNoCommittedState(t *testing.T) {
	base := model()
	build(t, base, "/root", blob(0))
	s, err := native.Open(t.Context(), "/root", native.Options{FS: base})
	must(t, err)
	_, err = s.Stage(storeOp(blob(1)).Records[0].Hash, uint64(len(blob(1))), bytes.NewReader(blob(1)))
	must(t, err)
	after := base.Clone()
	all, err := contents(t, after, "/root")
	if err != nil || !sameRecords(all, blobs(0, 1)) {
		t.Errorf("%d records, %v", len(all), err)
	}
	if _, err := after.Stat("/root/staging"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("staging is still there: %v", err)
	}
}

func TestOversizedRecordIsRefused(t *testing.T) {
	fsys, dir := newRoot(t, blob(0))
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	op := storeOp(blob(1))
	op.Records[0].Len = record.MaxRecordLen + 1
	_, err = s.Execute(op)
	kind(t, err, store.Integration, "input 0")
}
