package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// refuses checks that no way into a root takes it, and that none changes a byte.
func refuses(t *testing.T, dir string, want error, parts ...string) {
	t.Helper()
	fsys := profiletest.QuickFS()
	before := snapshot(t, dir)
	for _, o := range openers {
		if o.name == "create" && errors.Is(want, store.NotRoot) {
			continue
		}
		profiletest.Kind(t, o.open(fsys, dir), want, parts...)
	}
	if after := snapshot(t, dir); after != before {
		t.Errorf("the root has changed from %s to %s", before, after)
	}
}

// snapshot has the names and bytes of a root.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range profiletest.Names(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		fmt.Fprintf(&all, "%s %x\n", name, b)
	}
	return all.String()
}

func TestForeignMarkerIsRefusedUntouched(t *testing.T) {
	for name, c := range map[string]struct {
		marker string
		kind   error
		names  string
	}{
		"native":        {root.NativeMarker, store.Unsupported, "native"},
		"LMDB":          {root.LMDBMarker, store.Unsupported, "LMDB"},
		"OPFS":          {root.OPFSMarker, store.Unsupported, "OPFS"},
		"older version": {"lace-node-filesystem-shaped-store/3\n", store.NotRoot, "store/3"},
		"one byte more": {root.NodeMarker + "\n", store.NotRoot, "foreign"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, root.Marker), []byte(c.marker), 0o666))
			must(t, os.WriteFile(filepath.Join(dir, root.RecordLog), []byte("theirs"), 0o666))
			for _, o := range openers {
				fsys := faultfs.New(profiletest.QuickFS(), dir)
				profiletest.Unchanged(t, dir, func() { profiletest.Kind(t, o.open(fsys, dir), c.kind, c.names, root.Marker) })
				if calls := fsys.Calls(func(c faultfs.Call) bool { return c.Path != root.Marker && c.Op == faultfs.Open }); len(calls) > 0 {
					t.Errorf("%s touched %v", o.name, calls)
				}
			}
		})
	}
}

func TestStrictPrefixIsCompleted(t *testing.T) {
	for n := range len(root.NodeMarker) {
		fsys := profiletest.Model()
		must(t, fsys.Mkdir(profiletest.Dir))
		profiletest.Put(t, fsys, filepath.Join(profiletest.Dir, root.Marker), root.NodeMarker[:n])
		for _, o := range openers[1:] {
			profiletest.Kind(t, o.open(fsys, profiletest.Dir), store.NotRoot, "unfinished")
		}
		subject.MakeRoot(t, fsys, profiletest.Dir, profiletest.Blob(1))
		if got := profiletest.Get(t, fsys, filepath.Join(profiletest.Dir, root.Marker)); got != root.NodeMarker {
			t.Errorf("the marker is %q after a prefix of %d bytes", got, n)
		}
	}
	for _, other := range []string{root.NodeLock, root.RecordLog, "README"} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, root.Marker), []byte(root.NodeMarker[:9]), 0o666))
		must(t, os.WriteFile(filepath.Join(dir, other), nil, 0o666))
		profiletest.Unchanged(t, dir, func() {
			profiletest.Kind(t, openers[0].open(profiletest.QuickFS(), dir), store.NotRoot, other)
		})
	}
}

// TestEveryStateOfTheTruth: all combinations of record-log and records, and
// what they mean to who may finish a making and to who may not.
func TestEveryStateOfTheTruth(t *testing.T) {
	for _, c := range []struct {
		log, arena   string
		create, open error
	}{
		{"absent", "absent", nil, store.NotRoot},
		{"absent", "empty", nil, store.NotRoot},
		{"absent", "present", store.CorruptStore, store.CorruptStore},
		{"empty", "absent", nil, store.NotRoot},
		{"empty", "empty", nil, nil},
		{"empty", "present", nil, nil},
		{"torn", "absent", store.CorruptStore, store.CorruptStore},
		{"torn", "empty", store.CorruptStore, store.CorruptStore},
		{"torn", "present", nil, nil},
		{"present", "absent", store.CorruptStore, store.CorruptStore},
		{"present", "empty", store.CorruptStore, store.CorruptStore},
		{"present", "present", nil, nil},
	} {
		t.Run(c.log+" log, "+c.arena+" arena", func(t *testing.T) {
			fsys, dir := subject.NewRoot(t, profiletest.Blob(1))
			for name, state := range map[string]string{root.RecordLog: c.log, root.Records: c.arena} {
				switch path := filepath.Join(dir, name); state {
				case "absent":
					must(t, os.Remove(path))
				case "empty":
					must(t, os.Truncate(path, 0))
				case "torn":
					must(t, os.Truncate(path, 63))
				}
			}
			if c.open != nil {
				refuses(t, dir, c.open)
			}
			if c.create != nil {
				return
			}
			must(t, openers[0].open(fsys, dir))
			all, err := subject.Contents(t, fsys, dir)
			if want := map[bool]int{true: 1, false: 0}[c.log == "present"]; err != nil || len(all) != want {
				t.Errorf("%d records (%v), want %d", len(all), err, want)
			}
		})
	}
}

// TestBadRowFailsClosed: a bad complete row is named with its offset, and nothing
// changes.
func TestBadRowFailsClosed(t *testing.T) {
	beyond := profiletest.BadRow{
		Name: "one byte beyond the arena", Change: profiletest.SetRow(3, profiletest.As, profiletest.Plus(1)), Names: []string{"row 3 at offset 192"},
	}
	subject.BadRowsFailClosed(t, append(profiletest.BadRows(), beyond), func(t *testing.T, _ vfs.FS, dir string, parts ...string) {
		refuses(t, dir, store.CorruptStore, parts...)
	})
}

// An arena that has lost bytes, or whose glyph lines are not those of the rows.
func TestBadArenaFailsClosed(t *testing.T) {
	_, dir := subject.NewRoot(t, profiletest.Blobs(0, 3)...)
	must(t, os.Truncate(filepath.Join(dir, root.Records), int64(len(profiletest.Blob(0))+len(profiletest.Blob(1))+len(profiletest.Blob(2))-1)))
	refuses(t, dir, store.CorruptStore, "row 2 at offset 128")
	fsys, dir := subject.NewRoot(t, profiletest.Blobs(0, 3)...)
	profiletest.Edit(t, filepath.Join(dir, root.Records), profiletest.SetByte(len(profiletest.Blob(0))+10, 'x'))
	for _, i := range []int{0, 1, 2, 4} {
		profiletest.Kind(t, openers[i].open(fsys, dir), store.CorruptStore, "record #2")
	}
}

func TestPartialFinalRow(t *testing.T)      { subject.PartialFinalRow(t) }
func TestLostRowsAreRestored(t *testing.T)  { subject.LostRowsAreRestored(t) }
func TestResumeReportsABadLog(t *testing.T) { subject.ResumeReportsABadLog(t) }

// Ordinary open rejects every file of a compaction and every temporary, and
// says what resumes.
func TestCompactionFilesNeedResume(t *testing.T) {
	for _, name := range root.CompactionEntries() {
		fsys, dir := subject.NewRoot(t, profiletest.Blob(1))
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		for _, o := range openers[:3] {
			err := o.open(fsys, dir)
			profiletest.Kind(t, err, store.NeedsResume, name)
			var e *store.Error
			if !errors.As(err, &e) || e.Hint != "lace resume "+dir {
				t.Errorf("%s, %s: hint of %+v", name, o.name, e)
			}
		}
		if name == root.State {
			profiletest.Kind(t, openers[5].open(fsys, dir), store.CorruptStore)
			continue
		}
		must(t, openers[5].open(fsys, dir))
		must(t, openers[1].open(fsys, dir))
	}
}

// A torn state and a missing plan are damage, and nothing is guessed.
func TestTornStateAndMissingPlan(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"torn state":   func(dir string) error { return os.Truncate(filepath.Join(dir, root.State), 3) },
		"missing plan": func(dir string) error { return os.Remove(filepath.Join(dir, root.Plan)) },
		"short plan":   func(dir string) error { return os.Truncate(filepath.Join(dir, root.Plan), 40) },
		"another phase": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, root.State), []byte("reload 0\n"), 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := subject.NewRoot(t, profiletest.Blobs(0, 3)...)
			ctx, cancel := context.WithCancel(t.Context())
			opts := profile.CompactOptions{Open: profile.Options{FS: fsys}, Run: compact.Options{Progress: func(p compact.Progress) {
				if p.Phase == "move" {
					cancel()
				}
			}}}
			_, err := node.Profile{}.Compact(ctx, dir, opts, func(context.Context, store.Backend) (*kept.Set, error) {
				set := kept.New(3)
				set.Add(3)
				return set, nil
			})
			profiletest.Kind(t, err, store.Interrupted)
			must(t, change(dir))
			for _, o := range openers[4:] {
				profiletest.Kind(t, o.open(fsys, dir), store.CorruptStore)
			}
		})
	}
}

// Bytes behind the last row are ignored, overwritten by the next record, and not
// released unasked when they are a whole record.
func TestResidue(t *testing.T) {
	fsys, dir := subject.NewRoot(t, profiletest.Blobs(0, 2)...)
	arena := filepath.Join(dir, root.Records)
	profiletest.Edit(t, arena, func(b []byte) []byte { return append(b, make([]byte, 5000)...) })
	s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	_, err = profiletest.Admit(s, profiletest.Blob(2))
	must(t, errors.Join(err, s.Close()))
	all, err := subject.Contents(t, fsys, dir)
	if err != nil || !profiletest.Same(all, profiletest.Blobs(0, 3)) {
		t.Errorf("%d records, %v", len(all), err)
	}
	must(t, os.Truncate(filepath.Join(dir, root.RecordLog), 128))
	profiletest.Kind(t, openers[4].open(fsys, dir), store.Guarded, root.RecordLog)
	// A mebibyte of residue is worth a release even if everything is kept.
	profiletest.Edit(t, arena, func(b []byte) []byte { return append(b, make([]byte, 2<<20)...) })
	opts := profile.CompactOptions{Open: profile.Options{FS: fsys}, DiscardUnlisted: true}
	report, err := node.Profile{}.Compact(t.Context(), dir, opts, profiletest.KeepAll)
	if err != nil || report.Outcome != compact.NothingToDo || report.Release != compact.Truncated {
		t.Errorf("%+v, %v", report, err)
	}
	exactLength(t, dir, profiletest.Blobs(0, 2))
}

func exactLength(t *testing.T, dir string, records [][]byte) {
	t.Helper()
	want := bytes.Join(records, nil)
	if got, err := os.ReadFile(filepath.Join(dir, root.Records)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("records has %d bytes (%v), want the %d committed ones", len(got), err, len(want))
	}
}

// TestCompaction: the kept set, and everything that goes on afterwards; the arena
// has the exact length.
func TestCompaction(t *testing.T) {
	fsys, dir := profiletest.QuickFS(), filepath.Join(t.TempDir(), "root")
	subject.Compaction(t, fsys, dir, compact.Truncated)
	exactLength(t, dir, nil)
	subject.MakeRoot(t, fsys, dir, profiletest.Blobs(0, 3)...)
	exactLength(t, dir, profiletest.Blobs(0, 3))
	for _, o := range openers {
		must(t, o.open(fsys, dir))
	}
}

// Reads by position, in the order of ids and in none, over pages, records longer
// than a page and records admitted since.
func TestPages(t *testing.T) {
	records := [][]byte{profiletest.Blob(1), profiletest.BigBlob(3 << 20), profiletest.Blob(2), profiletest.BigBlob(600_000), profiletest.BigBlob(500_000), profiletest.Blob(3)}
	fsys, dir := subject.NewRoot(t, records...)
	s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	for range 2 {
		all, err := profiletest.Load(s)
		if err != nil || !profiletest.Same(all, records) {
			t.Fatalf("%d records, %v", len(all), err)
		}
		_, err = profiletest.Admit(s, profiletest.Blob(4))
		must(t, err)
		records = append(records[:6:6], profiletest.Blob(4))
	}
	for _, id := range []store.RecordID{7, 1, 4, 4, 5, 2, 3, 6, 1} {
		got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}})
		if err != nil || !bytes.Equal(got.(store.LoadedResult).Records[0].Bytes, records[id-1]) {
			t.Errorf("record #%d: %v", id, err)
		}
	}
	must(t, s.Close())
}

func TestStaging(t *testing.T) {
	fsys, dir := subject.NewRoot(t)
	s, err := node.Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	rec, hash := profiletest.Blob(1), profiletest.Op(profiletest.Blob(1)).Records[0].Hash
	staged, err := s.Stage(hash, uint64(len(rec)), bytes.NewReader(rec))
	must(t, err)
	_, err = s.Execute(store.StoreRecords{Records: []store.NewRecord{staged.Record()}})
	must(t, errors.Join(err, staged.Release()))
	damaged := bytes.Clone(rec)
	damaged[len(damaged)-1]++
	for name, c := range map[string]struct {
		bytes []byte
		kind  error
	}{"damaged": {damaged, store.Integration}, "short": {rec[:60], io.EOF}} {
		if _, err := s.Stage(hash, uint64(len(rec)), bytes.NewReader(c.bytes)); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = s.Stage(hash, 1<<40, bytes.NewReader(rec))
	profiletest.Kind(t, err, store.Integration)
	must(t, s.Close())
	if got := strings.Join(profiletest.Names(t, dir), " "); got != "record-log records store-format" {
		t.Errorf("staging leaves %s", got)
	}
	r, err := node.Open(t.Context(), dir, profile.Options{FS: fsys, ReadOnly: true})
	must(t, err)
	defer r.Close()
	_, err = r.Stage(hash, uint64(len(rec)), bytes.NewReader(rec))
	profiletest.Kind(t, err, store.Integration, "read-only")
	_, err = profiletest.Admit(r, rec)
	profiletest.Kind(t, err, store.Integration, "read-only")
}
