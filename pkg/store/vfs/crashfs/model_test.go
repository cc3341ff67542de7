package crashfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	. "github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// script is a file system and the means to drive it without a word on errors.
type script struct {
	*testing.T
	*FS
}

func newScript(t *testing.T, o Options) script { return script{t, New(o)} }

func (s script) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s script) open(path string) vfs.File {
	s.Helper()
	f, err := s.OpenFile(path, vfs.ReadWrite|vfs.Create)
	s.must(err)
	return f
}

func (s script) write(path string, off int64, text string) {
	s.Helper()
	f := s.open(path)
	_, err := f.WriteAt([]byte(text), off)
	s.must(err)
	s.must(f.Close())
}

func (s script) sync(path string) {
	s.Helper()
	f := s.open(path)
	s.must(f.Sync())
	s.must(f.Close())
}

// durable makes a file whose contents and entry are on the disk.
func (s script) durable(path, text string) {
	s.Helper()
	s.write(path, 0, text)
	s.sync(path)
	s.must(s.SyncDir("/"))
}

// show is the whole file system as text: "a=xyz b=" with absent files left out.
func show(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	entries, err := fsys.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range entries {
		if e.Type == vfs.Directory {
			texts = append(texts, e.Name+"/")
			continue
		}
		texts = append(texts, e.Name+"="+contents(t, fsys, "/"+e.Name))
	}
	return strings.Join(texts, " ")
}

func contents(t *testing.T, fsys vfs.FS, path string) string {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\x00", ".")
}

// outcomes are the different states after a crash now, over every choice of
// survivors and 200 random ones, sorted.
func outcomes(t *testing.T, f *FS) []string {
	t.Helper()
	var states []string
	for _, s := range f.Survivors(200, 1) {
		states = append(states, show(t, f.Crash(s)))
	}
	slices.Sort(states)
	return slices.Compact(states)
}

// Each script ends with a crash; want are all states that it may leave.
func TestWhatACrashLeaves(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		run     func(script)
		want    []string
	}{
		{"synced file and entry", Options{}, func(s script) { s.durable("/a", "new") }, []string{"a=new"}},
		{"a new file without its entry", Options{}, func(s script) {
			s.write("/a", 0, "new")
			s.sync("/a")
		}, []string{"", "a=new"}},
		{"an entry without its bytes", Options{}, func(s script) {
			s.write("/a", 0, "new")
			s.must(s.SyncDir("/"))
		}, []string{"a=", "a=...", "a=new"}},
		{"closing syncs nothing", Options{}, func(s script) {
			s.durable("/a", "old")
			s.write("/a", 0, "new")
		}, []string{"a=new", "a=old"}},
		{"an older version of a sector", Options{}, func(s script) {
			s.durable("/a", "000")
			s.write("/a", 0, "1")
			s.write("/a", 1, "2")
		}, []string{"a=000", "a=100", "a=120"}},
		{"files do not wait for each other", Options{}, func(s script) {
			s.durable("/a", "0")
			s.durable("/b", "0")
			s.write("/a", 0, "1")
			s.write("/b", 0, "1")
		}, []string{"a=0 b=0", "a=0 b=1", "a=1 b=0", "a=1 b=1"}},
		{"a file grows", Options{}, func(s script) {
			s.durable("/a", "12")
			s.write("/a", 2, "34")
		}, []string{"a=12", "a=12..", "a=1234"}},
		{"a file is cut", Options{}, func(s script) {
			s.durable("/a", "1234")
			s.must(s.open("/a").Truncate(2))
		}, []string{"a=12", "a=1234"}},
		{"cut and grown again, nothing old comes back", Options{}, func(s script) {
			s.durable("/a", "1234")
			f := s.open("/a")
			s.must(f.Truncate(0))
			s.must(f.Truncate(3))
		}, []string{"a=", "a=...", "a=1234"}},
		{"a hole", Options{}, func(s script) {
			s.durable("/a", "1234")
			s.must(s.open("/a").PunchHole(1, 2))
		}, []string{"a=1..4", "a=1234"}},
		{"a synced hole", Options{}, func(s script) {
			s.durable("/a", "1234")
			f := s.open("/a")
			s.must(f.PunchHole(1, 2))
			s.must(f.Sync())
		}, []string{"a=1..4"}},
		{"a removal", Options{}, func(s script) {
			s.durable("/a", "1")
			s.must(s.Remove("/a"))
		}, []string{"", "a=1"}},
		{"a synced removal", Options{}, func(s script) {
			s.durable("/a", "1")
			s.must(s.Remove("/a"))
			s.must(s.SyncDir("/"))
		}, []string{""}},
		{"a rename over a file", Options{}, func(s script) {
			s.durable("/a", "new")
			s.durable("/b", "old")
			s.must(s.Rename("/a", "/b"))
		}, []string{"a=new b=new", "a=new b=old", "b=new", "b=old"}},
		{"a rename in order", Options{OrderedEntries: true}, func(s script) {
			s.durable("/a", "new")
			s.durable("/b", "old")
			s.must(s.Rename("/a", "/b"))
		}, []string{"a=new b=old", "b=new"}},
		{"entries in order", Options{OrderedEntries: true}, func(s script) {
			for _, path := range []string{"/a", "/b", "/c"} {
				s.sync(path)
			}
			s.must(s.Remove("/a"))
		}, []string{"", "a=", "a= b=", "a= b= c=", "b= c="}},
		{"entries in any order", Options{}, func(s script) {
			s.sync("/a")
			s.sync("/b")
		}, []string{"", "a=", "a= b=", "b="}},
		{"a synced rename", Options{}, func(s script) {
			s.durable("/a", "new")
			s.durable("/b", "old")
			s.must(s.Rename("/a", "/b"))
			s.must(s.SyncDir("/"))
		}, []string{"b=new"}},
		{"an unlinked file is gone whatever was written", Options{}, func(s script) {
			s.durable("/a", "1")
			f := s.open("/a")
			s.must(s.Remove("/a"))
			s.must(s.SyncDir("/"))
			_, err := f.WriteAt([]byte("2"), 0)
			s.must(err)
		}, []string{""}},
		{"a directory", Options{}, func(s script) { s.must(s.Mkdir("/d")) }, []string{"", "d/"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, test.options)
			test.run(s)
			if got := outcomes(t, s.FS); !slices.Equal(got, test.want) {
				t.Errorf("a crash may leave %q,\nwant %q\nof %q", got, test.want, s.Pending())
			}
		})
	}
}

// Bytes that survived without the size they lie in are gone for good.
func TestBytesBehindTheSizeAreLost(t *testing.T) {
	s := newScript(t, Options{})
	s.durable("/a", "12")
	s.write("/a", 2, "34")
	after := script{t, s.Crash(Only(0))}
	if got := contents(t, after.FS, "/a"); got != "12" {
		t.Fatalf("the bytes alone kept leave %q; things: %q", got, s.Pending())
	}
	s.must(after.open("/a").Truncate(4))
	if got := contents(t, after.FS, "/a"); got != "12.." {
		t.Errorf("grown again, the file holds %q", got)
	}
}

// A directory is known by its own entry, its contents by its own sync.
func TestDirectoriesSurviveApart(t *testing.T) {
	s := newScript(t, Options{})
	s.must(s.Mkdir("/d"))
	s.durable("/d/a", "1") // syncs "/" but not "/d"
	after := s.Crash(None())
	if _, err := after.Stat("/d"); err != nil {
		t.Errorf("a synced directory: %v", err)
	}
	if _, err := after.Stat("/d/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an entry without a sync of its directory: %v", err)
	}
	s.must(s.SyncDir("/d"))
	if got := contents(t, s.Crash(None()), "/d/a"); got != "1" {
		t.Errorf("a synced file in a directory holds %q", got)
	}
}

func TestTearing(t *testing.T) {
	const sectors = 16
	s := newScript(t, Options{})
	s.durable("/a", strings.Repeat("o", sectors*512))
	s.write("/a", 0, strings.Repeat("n", sectors*512))
	var torn512, torn4096, whole bool
	for seed := range uint64(200) {
		state := contents(t, s.Crash(Random(seed)), "/a")
		var news, pageBreaks, sectorBreaks int
		for i := range sectors {
			sector := state[i*512 : (i+1)*512]
			if strings.Count(sector, sector[:1]) != 512 {
				t.Fatalf("seed %d: sector %d is torn inside", seed, i)
			}
			news += strings.Count(sector[:1], "n")
			if i > 0 && sector[0] != state[i*512-1] {
				sectorBreaks++
				if i == 8 {
					pageBreaks++
				}
			}
		}
		whole = whole || news == sectors
		torn4096 = torn4096 || sectorBreaks == 1 && pageBreaks == 1
		torn512 = torn512 || sectorBreaks > 1
	}
	if !torn512 || !torn4096 || !whole {
		t.Errorf("torn at 512: %v, torn at 4096: %v, whole: %v", torn512, torn4096, whole)
	}
}

func TestCrashAtEveryCall(t *testing.T) {
	work := func(f *FS) error {
		h, err := f.OpenFile("/a", vfs.ReadWrite|vfs.Create)
		if err != nil {
			return err
		}
		if _, err := h.WriteAt([]byte("x"), 0); err != nil {
			return err
		}
		return errors.Join(h.Truncate(5), h.PunchHole(0, 1), h.Sync(), h.Close(), f.SyncDir("/"), f.Mkdir("/d"),
			f.Rename("/a", "/b"), f.Remove("/b"))
	}
	base := New(Options{})
	plain := base.Clone()
	if err := work(plain); err != nil {
		t.Fatal(err)
	}
	const calls = 9
	if plain.Calls() != calls {
		t.Fatalf("%d calls counted, want %d", plain.Calls(), calls)
	}
	for k := 1; k <= calls+1; k++ {
		run := base.Clone()
		run.CrashAt(k)
		err := work(run)
		if crashed := k <= calls; errors.Is(err, ErrCrashed) != crashed || run.Crashed() != crashed {
			t.Errorf("crash at %d: %v", k, err)
		}
		if k > calls {
			continue
		}
		if run.Calls() != k {
			t.Errorf("crash at %d: %d calls counted", k, run.Calls())
		}
		if _, err := run.Stat("/"); !errors.Is(err, ErrCrashed) {
			t.Errorf("crash at %d: a later call returns %v", k, err)
		}
		if show(t, run.Crash(All())) != show(t, run.Clone()) {
			t.Errorf("crash at %d: everything kept is not what a killed process leaves", k)
		}
	}
	// The sync during which the power fails has made nothing durable.
	run := base.Clone()
	run.CrashAt(5)
	if err := work(run); !errors.Is(err, ErrCrashed) {
		t.Fatal(err)
	}
	if got := outcomes(t, run); len(got) < 4 {
		t.Errorf("a crash during the sync leaves only %q", got)
	}
}

func TestCrashEndsHandlesAndLocks(t *testing.T) {
	s := newScript(t, Options{})
	s.durable("/a", "1")
	h := s.open("/a")
	s.must(h.TryLock(vfs.ExclusiveLock))
	for name, after := range map[string]*FS{"crash": s.Crash(All()), "kill": s.Clone()} {
		next := script{t, after}
		if err := next.open("/a").TryLock(vfs.ExclusiveLock); err != nil {
			t.Errorf("after a %s the lock is still held: %v", name, err)
		}
		next.write("/a", 0, "2")
		if got := contents(t, s.FS, "/a"); got != "1" {
			t.Errorf("after a %s, writes show in the old file system: %q", name, got)
		}
	}
	s.CrashAt(s.Calls() + 1)
	if _, err := h.WriteAt([]byte("3"), 0); !errors.Is(err, ErrCrashed) {
		t.Errorf("write: %v", err)
	}
	if err := h.Close(); !errors.Is(err, ErrCrashed) {
		t.Errorf("a handle of the old machine closes with %v", err)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	s := newScript(t, Options{})
	s.durable("/a", "old")
	s.write("/a", 0, "new")
	twin := s.Clone()
	s.sync("/a")
	if got := outcomes(t, twin); !slices.Equal(got, []string{"a=new", "a=old"}) {
		t.Errorf("a sync of the original reached the clone: %q", got)
	}
	script{t, twin}.write("/a", 0, "xyz")
	if got := outcomes(t, s.FS); !slices.Equal(got, []string{"a=new"}) {
		t.Errorf("a write of the clone reached the original: %q", got)
	}
}

func TestSurvivorsText(t *testing.T) {
	for _, s := range []Survivors{None(), All(), AllBut(3), Only(0), Random(1 << 63)} {
		back, err := ParseSurvivors(s.String())
		if err != nil || back != s {
			t.Errorf("%s reads back as %v, %v", s, back, err)
		}
	}
	for _, text := range []string{"", "al", "all-but:", "only:x", "random:-1", "only:3 "} {
		if s, err := ParseSurvivors(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
}

func TestPendingIsOrderedAndNamed(t *testing.T) {
	s := newScript(t, Options{})
	s.durable("/b", "1")
	s.write("/b", 0, "two")
	s.write("/a", 0, "x")
	s.must(s.open("/b").PunchHole(0, 1))
	s.must(s.open("/b").Truncate(2))
	s.must(s.Remove("/b"))
	want := []string{
		"/: entry a of inode 3", "/: no entry b",
		"b: bytes [0, 3)", "b: size 3", "b: hole [0, 1)", "b: size 2",
		"a: bytes [0, 1)", "a: size 1",
	}
	if got := s.Pending(); !slices.Equal(got, want) {
		t.Errorf("Pending:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Every choice leaves the same state each time.
	for _, choice := range s.Survivors(20, 7) {
		if a, b := show(t, s.Crash(choice)), show(t, s.Clone().Crash(choice)); a != b {
			t.Errorf("%s leaves %q and %q", choice, a, b)
		}
	}
}

func TestFreeSpaceEnds(t *testing.T) {
	s := newScript(t, Options{FreeBytes: 4 * 512})
	free := func() int64 {
		space, err := s.Space("/")
		s.must(err)
		return space.FreeBytes
	}
	f := s.open("/a")
	n, err := f.WriteAt(make([]byte, 6*512), 100)
	if want := 4*512 - 100; n != want || err == nil || free() != 0 {
		t.Fatalf("wrote %d bytes, %v, %d left; want %d and an error", n, err, free(), want)
	}
	if _, err := f.WriteAt([]byte("over"), 0); err != nil {
		t.Errorf("an overwrite needs no space: %v", err)
	}
	s.must(f.PunchHole(512, 1024))
	if free() != 1024 {
		t.Errorf("a hole left %d bytes free", free())
	}
	if n, err := s.open("/b").WriteAt(make([]byte, 1025), 0); n != 1024 || err == nil {
		t.Errorf("the freed space took %d bytes, %v", n, err)
	}
	s.must(s.Remove("/a"))
	if free() != 0 {
		t.Errorf("an unlinked open file left %d bytes free", free())
	}
	s.must(f.Close())
	if free() != 1024 {
		t.Errorf("an unlinked closed file left %d bytes free", free())
	}
}

func BenchmarkCrash(b *testing.B) {
	base := New(Options{})
	work := func(f *FS) error {
		for i := range 8 {
			h, err := f.OpenFile(fmt.Sprintf("/f%d", i), vfs.ReadWrite|vfs.Create)
			if err != nil {
				return err
			}
			if _, err := h.WriteAt(make([]byte, 2000), 0); err != nil {
				return err
			}
			if err := errors.Join(h.Sync(), h.Close(), f.SyncDir("/")); err != nil {
				return err
			}
		}
		return nil
	}
	if err := work(base); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		run := base.Clone()
		run.CrashAt(1 + i%24)
		if err := work(run); err != nil && !errors.Is(err, ErrCrashed) {
			b.Fatal(err)
		}
		if _, err := run.Crash(Random(uint64(i))).ReadDir("/"); err != nil {
			b.Fatal(err)
		}
	}
}
