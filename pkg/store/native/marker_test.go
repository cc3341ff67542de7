package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

func TestCreateMakesTheWholeRoot(t *testing.T) {
	_, dir := newRoot(t)
	if got, want := strings.Join(names(t, dir), " "), "arena-lock lock record-log records store-format"; got != want {
		t.Errorf("entries %q, want %q", got, want)
	}
	marker, err := os.ReadFile(filepath.Join(dir, root.Marker))
	must(t, err)
	if string(marker) != "lace-native-filesystem-shaped-store/6\n" {
		t.Errorf("marker %q", marker)
	}
	for name, want := range map[string]int64{root.Lock: 0, root.ArenaLock: 0, root.RecordLog: 0, root.Records: minCapacity} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Size() != want {
			t.Errorf("%s has %d bytes, want %d", name, info.Size(), want)
		}
	}
}

// The seed's exact markers of other profiles, markers of other versions, and
// what is no marker at all.
var foreignMarkers = map[string]struct {
	marker string
	kind   error
	names  string
}{
	"LMDB":            {root.LMDBMarker, store.Unsupported, "LMDB"},
	"Node":            {root.NodeMarker, store.Unsupported, "Node"},
	"OPFS":            {root.OPFSMarker, store.Unsupported, "OPFS"},
	"local storage":   {root.LocalStorageMarker, store.Unsupported, "local storage"},
	"older version":   {"lace-native-filesystem-shaped-store/5\n", store.NotRoot, "store/5"},
	"one byte more":   {root.NativeMarker + "\n", store.NotRoot, "foreign"},
	"no prefix":       {"lace-x", store.NotRoot, "lace-x"},
	"carriage return": {strings.TrimSuffix(root.NativeMarker, "\n") + "\r\n", store.NotRoot, "foreign"},
}

func TestForeignMarkerIsRefusedUntouched(t *testing.T) {
	for name, c := range foreignMarkers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, root.Marker), []byte(c.marker), 0o666))
			must(t, os.WriteFile(filepath.Join(dir, root.RecordLog), []byte("theirs"), 0o666))
			for _, o := range openers {
				fsys := faultfs.New(quickFS(), dir)
				unchanged(t, dir, func() {
					err := o.open(t, fsys, dir)
					kind(t, err, c.kind, c.names, root.Marker)
				})
				if calls := fsys.Calls(func(c faultfs.Call) bool {
					return c.Path != root.Marker && c.Op != faultfs.Mkdir && (c.Op.Changing() || c.Op == faultfs.Open || c.Op == faultfs.Lock)
				}); len(calls) > 0 {
					t.Errorf("%s touched %v", o.name, calls)
				}
				if leaks := fsys.Leaks(); len(leaks) > 0 {
					t.Errorf("%s leaks %v", o.name, leaks)
				}
			}
		})
	}
}

// openers are all ways into a root. A successful one is closed again.
var openers = []struct {
	name string
	open func(t *testing.T, fsys vfs.FS, dir string) error
}{
	{"create", func(t *testing.T, fsys vfs.FS, dir string) error {
		return closed(native.Create(t.Context(), dir, native.Options{FS: fsys, Capacity: minCapacity}))
	}},
	{"open", func(t *testing.T, fsys vfs.FS, dir string) error {
		return closed(native.Open(t.Context(), dir, native.Options{FS: fsys}))
	}},
	{"read only", func(t *testing.T, fsys vfs.FS, dir string) error {
		return closed(native.Open(t.Context(), dir, native.Options{FS: fsys, ReadOnly: true}))
	}},
	{"examine", func(t *testing.T, fsys vfs.FS, dir string) error {
		x, err := native.Examine(t.Context(), dir, native.Options{FS: fsys})
		if err != nil {
			return err
		}
		return x.Close()
	}},
	{"compact", func(t *testing.T, fsys vfs.FS, dir string) error {
		_, err := native.Compact(t.Context(), dir, native.CompactOptions{Open: native.Options{FS: fsys}}, keepAll)
		return err
	}},
	{"resume", func(t *testing.T, fsys vfs.FS, dir string) error {
		_, err := native.Resume(t.Context(), dir, native.CompactOptions{Open: native.Options{FS: fsys}})
		return err
	}},
}

func closed(s *native.Store, err error) error {
	if err != nil {
		return err
	}
	return s.Close()
}

func TestMarkerReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, root.Marker)
	must(t, os.WriteFile(path, []byte(root.NativeMarker), 0o666))
	must(t, os.Truncate(path, 1<<40))
	for _, o := range openers {
		fsys := faultfs.New(quickFS(), dir)
		kind(t, o.open(t, fsys, dir), store.NotRoot, "foreign")
		read := int64(0)
		for _, c := range fsys.Calls(func(c faultfs.Call) bool { return c.Op == faultfs.Read }) {
			read += c.Len
		}
		if want := int64(len(root.NativeMarker) + 1); read == 0 || read > want {
			t.Errorf("%s reads %d bytes, want at most %d", o.name, read, want)
		}
	}
}

func TestStrictPrefixIsCompleted(t *testing.T) {
	for n := range len(root.NativeMarker) {
		fsys, dir := model(), "/root"
		must(t, fsys.Mkdir(dir))
		put(t, fsys, filepath.Join(dir, root.Marker), root.NativeMarker[:n])
		for _, readOnly := range []bool{false, true} {
			_, err := native.Open(t.Context(), dir, native.Options{FS: fsys, ReadOnly: readOnly})
			kind(t, err, store.NotRoot, "unfinished")
		}
		build(t, fsys, dir, blob(1))
		if got := get(t, fsys, filepath.Join(dir, root.Marker)); got != root.NativeMarker {
			t.Errorf("the marker is %q after a prefix of %d bytes", got, n)
		}
	}
}

func TestStrictPrefixBesideAnotherEntryIsRefused(t *testing.T) {
	for _, n := range []int{0, 1, len(root.NativeMarker) - 1} {
		for _, other := range []string{root.Lock, root.RecordLog, "README", ".hidden", root.Staging} {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, root.Marker), []byte(root.NativeMarker[:n]), 0o666))
			must(t, os.WriteFile(filepath.Join(dir, other), nil, 0o666))
			unchanged(t, dir, func() {
				_, err := native.Create(t.Context(), dir, native.Options{FS: quickFS(), Capacity: minCapacity})
				kind(t, err, store.NotRoot, other)
			})
		}
	}
}

func TestForeignDirectoryIsRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("dear"), 0o666))
	file := filepath.Join(dir, "letter.txt")
	for _, o := range openers {
		unchanged(t, dir, func() {
			kind(t, o.open(t, quickFS(), dir), store.NotRoot)
			kind(t, o.open(t, quickFS(), file), store.NotRoot)
		})
	}
}

func TestMarkerThatIsNoFileIsRefused(t *testing.T) {
	_, other := newRoot(t)
	for name, make := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(filepath.Join(other, root.Marker), path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o777) },
	} {
		dir := t.TempDir()
		must(t, make(filepath.Join(dir, root.Marker)))
		for _, o := range openers {
			unchanged(t, dir, func() {
				if err := o.open(t, quickFS(), dir); err == nil {
					t.Errorf("%s opens a root whose marker is a %s", o.name, name)
				}
			})
		}
	}
}

// Many openers make one root at the same time. One owns it then, and each of
// the others is told that it is busy, nothing else.
func TestConcurrentMarkerRendezvous(t *testing.T) {
	for range 20 {
		fsys, dir := quickFS(), filepath.Join(t.TempDir(), "root")
		const openers = 8
		stores, errs := make([]*native.Store, openers), make([]error, openers)
		var start, done sync.WaitGroup
		start.Add(1)
		for i := range openers {
			done.Go(func() {
				start.Wait()
				stores[i], errs[i] = native.Create(t.Context(), dir, native.Options{FS: fsys, Capacity: minCapacity})
			})
		}
		start.Done()
		done.Wait()
		owners := 0
		for i, s := range stores {
			if errs[i] == nil {
				owners++
				defer s.Close()
			} else if !errors.Is(errs[i], store.Busy) {
				t.Errorf("opener %d: %v", i, errs[i])
			}
		}
		if owners != 1 {
			t.Fatalf("%d owners", owners)
		}
	}
}

// overtaken lets another opener make the whole root right before the first
// listing of its directory.
type overtaken struct {
	vfs.FS
	make func()
}

func (o *overtaken) ReadDir(path string) ([]vfs.Info, error) {
	if make := o.make; make != nil {
		o.make = nil
		make()
	}
	return o.FS.ReadDir(path)
}

func TestOvertakenOpenerIsNotRefused(t *testing.T) {
	fsys, dir := model(), "/root"
	must(t, fsys.Mkdir(dir))
	late := &overtaken{FS: fsys, make: func() { build(t, fsys, dir, blob(1)) }}
	s, err := native.Create(t.Context(), dir, native.Options{FS: late, Capacity: minCapacity})
	must(t, err)
	defer s.Close()
	if s.Position() != 1 {
		t.Errorf("position %d", s.Position())
	}
}
