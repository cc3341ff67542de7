package storetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// listed is the number of records in tests of durable lists.
const listed = 60

func (s suite) testReopen(t *testing.T) {
	recs := topics(30)
	f := s.with(t, recs[:20]...)
	f.askAll(recs[0])
	s.reopen(f)
	f.agree(store.CurrentStorePosition{})
	f.askAll(recs[0])
	f.agree(admission(recs[15:]...))
	s.reopen(f)
	f.askAll(recs[0])
}

// reopen closes the store and opens its root again.
func (s suite) reopen(f *fixture) {
	f.t.Helper()
	f.backend = s.caps.Reopen(f.t, f.close())
}

// askAll asks queries of every shape, often enough to build their lists.
func (f *fixture) askAll(first Record) {
	f.t.Helper()
	pos := store.Position(len(f.oracle.records))
	cs := constraints(first)
	for range asks {
		for i, c := range cs {
			f.find(store.FindRecords{Query: where(c), UpperInclusive: store.Latest, MaxRows: store.Unbounded})
			f.find(store.FindRecords{Query: where(c, cs[(i+5)%len(cs)]), LowerExclusive: pos / 3, UpperInclusive: pos - pos/4, MaxRows: 3})
		}
	}
}

// damage is one way in which the file of a list can be wrong.
type damage struct {
	name string
	// anyRoot says that the harm shows whatever the root holds; the others
	// are made for a root of listed records.
	anyRoot bool
	harm    func(t *testing.T, l listFile)
}

func damages() []damage {
	rewrite := func(change func(list []byte) []byte) func(*testing.T, listFile) {
		return func(t *testing.T, l listFile) { l.write(t, change(l.read(t))) }
	}
	cut := func(n int) func(list []byte) []byte {
		return func(list []byte) []byte { return list[:max(len(list)-n, 0)] }
	}
	word := binary.LittleEndian.AppendUint64
	return []damage{
		{"deleted", true, func(t *testing.T, l listFile) { l.remove(t) }},
		{"emptied", true, rewrite(func([]byte) []byte { return nil })},
		{"torn inside a word", true, rewrite(cut(3))},
		{"truncated by the sentinel", true, rewrite(cut(8))},
		{"truncated by two words", true, rewrite(cut(16))},
		{"truncated by half", true, rewrite(func(list []byte) []byte { return list[:len(list)/16*8] })},
		{"torn to zeros", true, rewrite(func(list []byte) []byte {
			clear(list[len(list)/2:])
			return list
		})},
		{"oversized", false, rewrite(func(list []byte) []byte { return append(list, make([]byte, 8*listed)...) })},
		{"oversized by a gigabyte", true, func(t *testing.T, l listFile) { l.truncate(t, 1<<30) }},
		{"unsorted", false, rewrite(func(list []byte) []byte {
			return append(word(word(nil, 2), 1), list[len(list)-8:]...)
		})},
		{"out of range", false, rewrite(func([]byte) []byte { return word(word(nil, listed+40), listed+50) })},
		{"checked beyond the high-water", false, rewrite(func(list []byte) []byte {
			return word(list[:len(list)-8], listed+50)
		})},
		{"a directory in its place", true, func(t *testing.T, l listFile) {
			l.remove(t)
			if err := l.fs.Mkdir(l.path); err != nil {
				t.Fatal(err)
			}
		}},
		{"leftover temporary", true, func(t *testing.T, l listFile) {
			temp := l
			temp.path += vfs.TempSuffix
			temp.write(t, []byte("half a lis"))
		}},
	}
}

func (s suite) testLists(t *testing.T) {
	for _, d := range damages() {
		t.Run("same answers with every list "+d.name, func(t *testing.T) { s.listsDamaged(t, d) })
	}
	t.Run("same answers without the index directory", s.listsWithoutDirectory)
	t.Run("same answers with every list lagging", s.listsLagging)
	t.Run("reopen uses each list for its own key", s.listsOwnKeys)
	t.Run("keys too long for a path are scanned", s.listsLongKeys)
	t.Run("asked once and closed publishes nothing", s.listsClosePublishesNothing)
	if s.caps.ReopenReadOnly != nil {
		t.Run("read-only opening publishes nothing", s.listsReadOnly)
	}
}

// withLists opens a store, makes it publish lists, and closes it.
func (s suite) withLists(t *testing.T, recs []Record) (*fixture, store.Backend, []listFile) {
	t.Helper()
	f := s.with(t, recs...)
	f.askAll(recs[0])
	closed := f.close()
	files := s.files(t, closed)
	if len(files) == 0 {
		t.Fatal("an opening that writes published no list")
	}
	return f, closed, files
}

func (s suite) listsDamaged(t *testing.T, d damage) {
	recs := topics(listed + 20)
	f, closed, files := s.withLists(t, recs[:listed])
	for _, l := range files {
		d.harm(t, l)
	}
	f.backend = s.caps.Reopen(t, closed)
	f.askAll(recs[0])
	f.agree(admission(recs[listed:]...))
	f.askAll(recs[0])
	s.reopen(f)
	f.askAll(recs[0])
	for _, l := range s.files(t, f.close()) {
		if strings.HasSuffix(l.path, vfs.TempSuffix) {
			t.Errorf("the leftover %s is still there", l.path)
		}
	}
}

func (s suite) listsWithoutDirectory(t *testing.T) {
	recs := topics(listed)
	f, closed, files := s.withLists(t, recs)
	fsys, dir := s.caps.Lists(t, closed)
	if err := vfs.RemoveTree(fsys, dir); err != nil {
		t.Fatal(err)
	}
	f.backend = s.caps.Reopen(t, closed)
	f.askAll(recs[0])
	if again := s.files(t, f.close()); len(again) != len(files) {
		t.Errorf("published %d lists again, want %d", len(again), len(files))
	}
}

// listsLagging puts lists back as they were when the root held half of its
// records.
func (s suite) listsLagging(t *testing.T) {
	recs := topics(listed)
	f, closed, files := s.withLists(t, recs[:listed/2])
	old := make(map[string][]byte)
	for _, l := range files {
		old[l.path] = l.read(t)
	}
	f.backend = s.caps.Reopen(t, closed)
	f.agree(admission(recs[listed/2:]...))
	f.askAll(recs[0])
	closed = f.close()
	for _, l := range s.files(t, closed) {
		l.remove(t)
	}
	for _, l := range files {
		l.write(t, old[l.path])
	}
	f.backend = s.caps.Reopen(t, closed)
	f.askAll(recs[0])
}

// awkward names and values differ only in what a careless path loses.
func awkward() []string {
	return []string{".", "..", "A", "a", "CON", "con", "con.", "nul", "x61", "é", "\u00ea", "\ufeffa", "a/b", `a\b`, "a🖧"}
}

func (s suite) listsOwnKeys(t *testing.T) {
	var recs []Record
	var queries []store.Query
	for i, name := range awkward() {
		for j, value := range awkward() {
			if (i+j)%3 == 0 {
				recs = append(recs, Plex("at "+name+" "+value, Header{name, value}))
			}
			queries = append(queries, exact(name, value), exact(value, name))
		}
		queries = append(queries, where(store.Constraint{Shape: store.FieldPresence, Name: name}), exact(name, ""), exact("", name))
	}
	f := s.with(t, recs...)
	askQueries := func() {
		for range asks {
			for _, q := range queries {
				f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
			}
		}
	}
	askQueries()
	s.reopen(f)
	askQueries()
}

func (s suite) listsLongKeys(t *testing.T) {
	var recs []Record
	var queries []store.Query
	for n := 117; n <= 130; n++ {
		name, value := strings.Repeat("n", n), strings.Repeat("v", n)
		recs = append(recs, Plex("long "+value, Header{name, "short"}, Header{"short", value}, Header{name + "x", value}))
		queries = append(queries, exact(name, "short"), exact("short", value), exact(name+"x", value),
			where(store.Constraint{Shape: store.FieldPresence, Name: name}),
			where(store.Constraint{Shape: store.FieldPrefix, Name: "short", Value: value}))
	}
	f := s.with(t, recs...)
	for range 2 {
		for range asks {
			for _, q := range queries {
				f.find(store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: store.Unbounded})
			}
		}
		s.reopen(f)
	}
	for _, l := range s.files(t, f.close()) {
		for _, part := range strings.Split(filepath.ToSlash(l.path+vfs.TempSuffix), "/") {
			if len(part) > 255 {
				t.Errorf("component of %d bytes in %s", len(part), l.path)
			}
		}
	}
}

func (s suite) listsClosePublishesNothing(t *testing.T) {
	f := s.with(t, topics(listed)...)
	f.find(store.FindRecords{Query: exact("Topic", "odd"), UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	if files := s.files(t, f.close()); len(files) != 0 {
		t.Errorf("closing left %d lists", len(files))
	}
}

func (s suite) listsReadOnly(t *testing.T) {
	recs := topics(listed)
	f, closed, files := s.withLists(t, recs)
	for _, l := range files[:len(files)/2] {
		l.remove(t)
	}
	left := len(s.files(t, closed))
	f.backend = s.caps.ReopenReadOnly(t, closed)
	f.askAll(recs[0])
	if now := len(s.files(t, f.close())); now != left {
		t.Errorf("a read-only opening changed the number of lists from %d to %d", left, now)
	}
}

// listFile is one file below the index directory.
type listFile struct {
	fs   vfs.FS
	path string
}

// files returns every regular file below the index directory.
func (s suite) files(t *testing.T, closed store.Backend) []listFile {
	t.Helper()
	fsys, dir := s.caps.Lists(t, closed)
	var files []listFile
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			switch path := filepath.Join(dir, e.Name); {
			case e.Type == vfs.Directory:
				walk(path)
			case !strings.HasSuffix(e.Name, vfs.TempSuffix): // leftovers are no lists
				files = append(files, listFile{fsys, path})
			}
		}
	}
	walk(dir)
	return files
}

func (l listFile) open(t *testing.T, mode vfs.Mode, use func(vfs.File) error) {
	t.Helper()
	f, err := l.fs.OpenFile(l.path, mode)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(use(f), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// read returns what a list can hold at most in these tests: a file may have
// been blown up before.
func (l listFile) read(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	l.open(t, vfs.ReadOnly, func(f vfs.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		_, err = b.ReadFrom(io.NewSectionReader(f, 0, min(info.Size, 1<<16)))
		return err
	})
	return b.Bytes()
}

func (l listFile) write(t *testing.T, content []byte) {
	t.Helper()
	l.open(t, vfs.ReadWrite|vfs.Create, func(f vfs.File) error {
		if err := f.Truncate(0); err != nil {
			return err
		}
		_, err := f.WriteAt(content, 0)
		return err
	})
}

func (l listFile) truncate(t *testing.T, size int64) {
	t.Helper()
	l.open(t, vfs.ReadWrite, func(f vfs.File) error { return f.Truncate(size) })
}

func (l listFile) remove(t *testing.T) {
	t.Helper()
	if err := l.fs.Remove(l.path); err != nil {
		t.Fatal(err)
	}
}
