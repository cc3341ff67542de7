package profiletest

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

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

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

// QuickFS is the system's files without any sync.
func QuickFS() vfs.FS { return quick{osfs.New()} }

// Model is a fresh model file system whose mappings end without the garbage
// collector.
func Model() *crashfs.FS { return crashfs.New(crashfs.Options{ReleaseAtOnce: true}) }

// Must fails the test at once on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Blob is a valid record that is different for every n.
func Blob(n int) []byte {
	v, err := record.BuildBlob(nil, fmt.Appendf(nil, "blob number %d %s", n, strings.Repeat("x", n%7*90)))
	if err != nil {
		panic(err)
	}
	return v.Bytes()
}

// Blobs are the blobs of [lo, hi).
func Blobs(lo, hi int) [][]byte {
	var all [][]byte
	for n := lo; n < hi; n++ {
		all = append(all, Blob(n))
	}
	return all
}

// Op admits records.
func Op(records ...[]byte) store.StoreRecords {
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

// Admit admits records to a store.
func Admit(s store.Backend, records ...[]byte) (store.StoredResult, error) {
	got, err := s.Execute(Op(records...))
	if err != nil {
		return store.StoredResult{}, err
	}
	return got.(store.StoredResult), nil
}

// Load returns the bytes of every record, in id order, each verified.
func Load(s profile.Store) ([][]byte, error) {
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

// Tree describes everything below dir: type, mode, size, time and bytes.
func Tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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

// Unchanged fails the test when dir is not as before once work has run.
func Unchanged(t testing.TB, dir string, work func()) {
	t.Helper()
	before := Tree(t, dir)
	work()
	if after := Tree(t, dir); after != before {
		t.Errorf("the directory has changed from\n%sto\n%s", before, after)
	}
}

// Names lists a directory.
func Names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	Must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// Same compares records.
func Same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// Kind fails the test unless err is of that kind and names all of the parts.
func Kind(t testing.TB, err, want error, parts ...string) {
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

// Put makes or replaces a file and makes it durable.
func Put(t testing.TB, fsys vfs.FS, path, text string) {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadWrite|vfs.Create)
	Must(t, err)
	Must(t, f.Truncate(0))
	_, err = f.WriteAt([]byte(text), 0)
	Must(t, errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir(filepath.Dir(path))))
}

// Get reads a file.
func Get(t testing.TB, fsys vfs.FS, path string) string {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	Must(t, err)
	defer f.Close()
	info, err := f.Stat()
	Must(t, err)
	b := make([]byte, info.Size)
	n, err := f.ReadAt(b, 0)
	if n < len(b) {
		t.Fatal(err)
	}
	return string(b)
}

// KeepAll retains everything.
func KeepAll(_ context.Context, b store.Backend) (*kept.Set, error) {
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

// BigBlob is a valid record of more than n bytes.
func BigBlob(n int) []byte {
	v, err := record.BuildBlob(nil, make([]byte, n))
	if err != nil {
		panic(err)
	}
	return v.Bytes()
}

// content describes the files below dir: paths and bytes. A directory's time is
// no content: a sentinel that came and went has changed it.
func (s Subject) content(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(s.Ignore, d.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %d %x\n", path, len(data), sha256.Sum256(data))
		return err
	}))
	return b.String()
}
