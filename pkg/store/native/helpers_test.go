package native_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// minCapacity is the least capacity of a root, in bytes.
const minCapacity = 1 << 20

// quick is the system's files without the waiting: nothing that these tests
// kill is the machine.
type quick struct{ vfs.FS }

type quickFile struct{ vfs.File }

func (quickFile) Sync() error           { return nil }
func (quick) SyncDir(path string) error { return nil }

func (q quick) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := q.FS.OpenFile(path, mode)
	if err != nil {
		return nil, err
	}
	return quickFile{f}, nil
}

func quickFS() vfs.FS { return quick{osfs.New()} }

// model is a fresh model file system whose mappings end without the garbage
// collector.
func model() *crashfs.FS { return crashfs.New(crashfs.Options{ReleaseAtOnce: true}) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// blob is a valid record that is different for every n.
func blob(n int) []byte {
	v, err := record.BuildBlob(nil, fmt.Appendf(nil, "blob number %d %s", n, strings.Repeat("x", n%7*90)))
	if err != nil {
		panic(err)
	}
	return v.Bytes()
}

func blobs(lo, hi int) [][]byte {
	var all [][]byte
	for n := lo; n < hi; n++ {
		all = append(all, blob(n))
	}
	return all
}

func storeOp(records ...[]byte) store.StoreRecords {
	var op store.StoreRecords
	for _, rec := range records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			panic(err)
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	return op
}

func admit(s store.Backend, records ...[]byte) (store.StoredResult, error) {
	got, err := s.Execute(storeOp(records...))
	if err != nil {
		return store.StoredResult{}, err
	}
	return got.(store.StoredResult), nil
}

// load returns the bytes of every record, in id order, each verified.
func load(s *native.Store) ([][]byte, error) {
	var all [][]byte
	for id := store.RecordID(1); store.Position(id) <= s.Position(); id++ {
		got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}})
		if err != nil {
			return nil, err
		}
		rec := got.(store.LoadedResult).Records[0]
		if rec.ID != id {
			return nil, fmt.Errorf("record #%d is missing", id)
		}
		if err := record.VerifyBytes(rec.Bytes, rec.Hash); err != nil {
			return nil, fmt.Errorf("record #%d: %w", id, err)
		}
		all = append(all, bytes.Clone(rec.Bytes))
		runtime.KeepAlive(rec)
	}
	return all, nil
}

// contents opens a root for writing and returns its records.
func contents(t testing.TB, fsys vfs.FS, dir string) (all [][]byte, err error) {
	t.Helper()
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	if err != nil {
		return nil, err
	}
	all, err = load(s)
	return all, errors.Join(err, s.Close())
}

// build makes a root with some records and closes it.
func build(t testing.TB, fsys vfs.FS, dir string, records ...[]byte) {
	t.Helper()
	s, err := native.Create(t.Context(), dir, native.Options{FS: fsys, Capacity: minCapacity})
	must(t, err)
	_, err = admit(s, records...)
	must(t, errors.Join(err, s.Close()))
}

func newRoot(t testing.TB, records ...[]byte) (fsys vfs.FS, dir string) {
	t.Helper()
	fsys, dir = quickFS(), filepath.Join(t.TempDir(), "root")
	build(t, fsys, dir, records...)
	return fsys, dir
}

// tree describes everything below dir: type, mode, size, time and bytes.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %d %s", path, info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// unchanged fails the test when dir is not as before once work has run.
func unchanged(t *testing.T, dir string, work func()) {
	t.Helper()
	before := tree(t, dir)
	work()
	if after := tree(t, dir); after != before {
		t.Errorf("the directory has changed from\n%sto\n%s", before, after)
	}
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// released waits for the garbage collector to end a mapping.
func released(t testing.TB, done <-chan struct{}) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("the mapping was not released")
}

func sameRecords(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// kind fails the test unless err is of that kind and names all of the parts.
func kind(t testing.TB, err, want error, parts ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want one of kind %v", err, want)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not name %q", err, part)
		}
	}
}

// put makes or replaces a file and makes it durable.
func put(t testing.TB, fsys vfs.FS, path, text string) {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadWrite|vfs.Create)
	must(t, err)
	must(t, f.Truncate(0))
	_, err = f.WriteAt([]byte(text), 0)
	must(t, errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir(filepath.Dir(path))))
}

func get(t testing.TB, fsys vfs.FS, path string) string {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	b := make([]byte, info.Size)
	n, err := f.ReadAt(b, 0)
	if n < len(b) {
		t.Fatal(err)
	}
	return string(b)
}

// keepAll retains everything.
func keepAll(_ context.Context, b store.Backend) (*kept.Set, error) {
	got, err := b.Execute(store.CurrentStorePosition{})
	if err != nil {
		return nil, err
	}
	set := kept.New(got.(store.PositionResult).Position)
	for id := store.RecordID(1); store.Position(id) <= set.Boundary(); id++ {
		set.Add(id)
	}
	return set, nil
}

// bigBlob is a valid record of more than n bytes.
func bigBlob(n int) []byte {
	v, err := record.BuildBlob(nil, make([]byte, n))
	if err != nil {
		panic(err)
	}
	return v.Bytes()
}
