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
	"github.com/lace-store/lace/pkg/store/vfs"
)

// openers are all ways into a root. A successful one is closed again.
var openers = []struct {
	name string
	open func(fsys vfs.FS, dir string) error
}{
	{"create", func(fsys vfs.FS, dir string) error {
		return closed(lmdb.Quick().Create(context.Background(), dir, profile.Options{FS: fsys, Capacity: minCapacity}))
	}},
	{"open", func(fsys vfs.FS, dir string) error {
		return closed(lmdb.Quick().Open(context.Background(), dir, profile.Options{FS: fsys}))
	}},
	{"read only", func(fsys vfs.FS, dir string) error {
		return closed(lmdb.Quick().Open(context.Background(), dir, profile.Options{FS: fsys, ReadOnly: true}))
	}},
	{"examine", func(fsys vfs.FS, dir string) error {
		x, err := lmdb.Quick().Examine(context.Background(), dir, profile.Options{FS: fsys})
		if err != nil {
			return err
		}
		_, err = x.CheckIndexes(context.Background())
		return errors.Join(err, x.Damage(), x.Close())
	}},
	{"compact", func(fsys vfs.FS, dir string) error {
		_, err := lmdb.Quick().Compact(context.Background(), dir, compactOptions(fsys), keeping(even))
		return err
	}},
	{"resume", func(fsys vfs.FS, dir string) error {
		_, err := lmdb.Quick().Resume(context.Background(), dir, compactOptions(fsys))
		return err
	}},
}

func closed(s profile.Store, err error) error {
	if err != nil {
		return err
	}
	return s.Close()
}

// LMDB would follow a link and write into a file beside the root, or wait for
// the other end of a FIFO: whatever is no file is refused before it sees it.
func TestFilesOfLMDBAreRegular(t *testing.T) {
	for _, name := range []string{root.LMDBData, root.LMDBLock} {
		for kind, make := range map[string]func(path, beside string) error{
			"link":          func(path, beside string) error { return os.Symlink(beside, path) },
			"dangling link": func(path, beside string) error { return os.Symlink(beside+".not", path) },
			"directory":     func(path, _ string) error { return os.Mkdir(path, 0o777) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				fsys, dir, s := newRoot(t, blobs(0, 3)...)
				must(t, s.Close())
				path, beside := filepath.Join(dir, name), filepath.Join(t.TempDir(), "beside")
				must(t, os.Rename(path, beside))
				must(t, make(path, beside))
				before := profiletest.Get(t, fsys, beside)
				for _, o := range openers {
					err := o.open(fsys, dir)
					if err == nil || !errors.Is(err, vfs.ErrNotRegular) && !errors.Is(err, store.CorruptStore) {
						t.Errorf("%s: %v", o.name, err)
					}
				}
				if profiletest.Get(t, fsys, beside) != before {
					t.Error("the file beside the root has changed")
				}
				if _, err := os.Stat(beside + ".not"); err == nil {
					t.Error("a file beside the root was made")
				}
			})
		}
	}
}

// A data.mdb that was cut is CorruptStore, wherever it ends, and nothing changes.
// LMDB by itself would end the process.
func TestCutEnvironment(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 200)...)
	must(t, s.Close())
	data := filepath.Join(dir, root.LMDBData)
	whole, err := os.ReadFile(data)
	must(t, err)
	for size := 0; size < len(whole); size += 4 << 10 {
		for _, size := range []int{size, size + 100} {
			must(t, os.WriteFile(data, whole[:size], 0o666))
			for _, o := range openers {
				profiletest.Kind(t, o.open(fsys, dir), store.CorruptStore)
			}
			if got, err := os.ReadFile(data); err != nil || string(got) != string(whole[:size]) {
				t.Fatalf("cut to %d bytes, it has changed: %v", size, err)
			}
		}
	}
	must(t, os.WriteFile(data, whole, 0o666))
	for _, o := range openers {
		must(t, o.open(fsys, dir))
	}
}

// A page that is damaged is told by those who read or move everything.
func TestDamagedEnvironment(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 600)...)
	must(t, s.Close())
	data := filepath.Join(dir, root.LMDBData)
	whole, err := os.ReadFile(data)
	must(t, err)
	damaged, size := 0, os.Getpagesize() // which LMDB takes
	for page := 2; page < len(whole)/size; page++ {
		bad := append([]byte{}, whole...)
		copy(bad[page*size:], strings.Repeat("\xff", size))
		must(t, os.WriteFile(data, bad, 0o666))
		examined := openers[3].open(fsys, dir)
		if examined == nil {
			continue // a free page
		}
		damaged++
		for _, o := range openers[2:5] {
			profiletest.Kind(t, o.open(fsys, dir), store.CorruptStore, root.LMDBData)
		}
		if got, err := os.ReadFile(data); err != nil || string(got) != string(bad) {
			t.Fatalf("page %d: it has changed: %v", page, err)
		}
	}
	if damaged < 5 {
		t.Errorf("%d pages are used", damaged)
	}
}

// A compaction of rows that are not those of the arena would move and release
// the bytes of others. It is refused before anything is chosen.
func TestRowsOfAnotherDayAreNotCompacted(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 30)...)
	must(t, s.Close())
	data, arena := filepath.Join(dir, root.LMDBData), filepath.Join(dir, root.Records)
	before, err := os.ReadFile(data)
	must(t, err)
	_, err = lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
	must(t, err)
	bytesBefore, err := os.ReadFile(arena)
	must(t, err)
	must(t, os.WriteFile(data, before, 0o666))
	_, err = lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), func(context.Context, store.Backend) (*kept.Set, error) {
		t.Error("something was to be chosen")
		return nil, errors.New("no choice")
	})
	profiletest.Kind(t, err, store.CorruptStore, "record #1")
	if bytesAfter, err := os.ReadFile(arena); err != nil || string(bytesAfter) != string(bytesBefore) {
		t.Errorf("the arena has changed: %v", err)
	}
	for name, damage := range map[string]func(*lmdb.Store) error{
		"a row with a gap before it": func(s *lmdb.Store) error { return lmdb.ShiftRow(s, 4) },
		"a hash without its row":     func(s *lmdb.Store) error { return lmdb.LoseHash(s, 2) },
	} {
		fsys, dir, s := newRoot(t, blobs(0, 5)...)
		must(t, errors.Join(damage(s), s.Close()))
		if err := openers[4].open(fsys, dir); !errors.Is(err, store.CorruptStore) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// While the rows are reloaded, the plan and the arena have everything: an
// environment that is lost is made again, one that is damaged is moved away by
// the operator first.
func TestLostEnvironmentIsReloaded(t *testing.T) {
	for name, lose := range map[string]func(data string) error{
		"damaged": func(data string) error { return os.Truncate(data, 3*4096) },
		"lost":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := interruptedRoot(t)
			data := filepath.Join(dir, root.LMDBData)
			must(t, lose(data))
			if name == "damaged" {
				_, err := lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys))
				profiletest.Kind(t, err, store.CorruptStore, root.LMDBData)
				var known *store.Error
				if !errors.As(err, &known) || !strings.Contains(known.Hint, "move "+data) || !strings.Contains(known.Hint, "lace resume "+dir) {
					t.Errorf("%v", err)
				}
				must(t, errors.Join(os.Remove(data), os.Remove(filepath.Join(dir, root.LMDBLock))))
			}
			report, err := lmdb.Quick().Resume(t.Context(), dir, compactOptions(fsys))
			if err != nil || report.Outcome != compact.Resumed {
				t.Fatalf("%+v, %v", report, err)
			}
			sameRecords(t, contents(t, fsys, dir), everySecond(blobs(0, 20)))
		})
	}
}
