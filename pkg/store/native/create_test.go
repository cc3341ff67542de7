package native_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
)

func env(value string) func(string) (string, bool) {
	return func(name string) (string, bool) { return value, name == native.CapacityVariable }
}

func unset(string) (string, bool) { return "", false }

func TestCreationCapacity(t *testing.T) {
	for name, c := range map[string]struct {
		opts native.Options
		want uint64
	}{
		"default":                       {native.Options{LookupEnv: unset}, 1 << 40},
		"default, nobody asks":          {native.Options{}, 1 << 40},
		"variable":                      {native.Options{LookupEnv: env("1114112")}, 1114112},
		"least":                         {native.Options{LookupEnv: env("1048576")}, 1 << 20},
		"option wins over the variable": {native.Options{Capacity: 2 << 20, LookupEnv: env("1114112")}, 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			c.opts.FS = model()
			s, err := native.Create(t.Context(), "/root", c.opts)
			must(t, err)
			defer s.Close()
			info, err := c.opts.FS.Stat("/root/records")
			must(t, err)
			if s.Capacity() != c.want || info.Size != int64(c.want) || info.Allocated != 0 {
				t.Errorf("capacity %d, arena %+v, want %d", s.Capacity(), info, c.want)
			}
		})
	}
}

func TestInvalidCapacityFailsBeforeAnythingIsMade(t *testing.T) {
	for _, value := range []string{
		"", "0", "1", "1048575", "1048577", "1081344", "-1048576", "+1048576", " 1048576", "1048576\n", "0x100000",
		"1_048_576", "1e6", "1M", "18446744073709551616", "18446744073709551615", "9223372036854775808",
	} {
		fsys := model()
		_, err := native.Create(t.Context(), "/root", native.Options{FS: fsys, LookupEnv: env(value)})
		kind(t, err, store.Integration, native.CapacityVariable, fmt.Sprintf("%q", value))
		if _, err := fsys.Stat("/root"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q has made a directory: %v", value, err)
		}
	}
	_, err := native.Create(t.Context(), "/root", native.Options{FS: model(), Capacity: minCapacity + 1})
	kind(t, err, store.Integration, "1048577")
}

func TestCapacityVariableIsReadAtCreationOnly(t *testing.T) {
	fsys := model()
	build(t, fsys, "/root", blob(1))
	forbidden := func(string) (string, bool) {
		t.Error("the environment was asked for an existing root")
		return "nonsense", true
	}
	for _, open := range []func() (*native.Store, error){
		func() (*native.Store, error) {
			return native.Create(t.Context(), "/root", native.Options{FS: fsys, LookupEnv: forbidden})
		},
		func() (*native.Store, error) {
			return native.Open(t.Context(), "/root", native.Options{FS: fsys, LookupEnv: forbidden})
		},
	} {
		s, err := open()
		must(t, err)
		if s.Capacity() != minCapacity {
			t.Errorf("capacity %d", s.Capacity())
		}
		must(t, s.Close())
	}
}

// An arena whose recorded length is no capacity fails closed, with and without
// rows in the log.
func TestArenaOfInvalidLengthFailsClosed(t *testing.T) {
	for _, records := range [][][]byte{nil, {blob(1)}} {
		for _, size := range []int64{1, 4096, minCapacity - 1, minCapacity + 1, minCapacity + 4096} {
			fsys, dir := newRoot(t, records...)
			must(t, os.Truncate(filepath.Join(dir, root.Records), size))
			unchanged(t, dir, func() {
				for _, o := range openers[:3] {
					kind(t, o.open(t, fsys, dir), store.CorruptStore, fmt.Sprint(size), root.Records)
				}
			})
		}
	}
}

// truthStates are all combinations of record-log and records, and what they
// mean to an opener that may finish a making and to one that may not.
var truthStates = []struct {
	log, arena   string // absent, empty, torn, present
	create, open error
}{
	{"absent", "absent", nil, store.NotRoot},
	{"absent", "empty", store.CorruptStore, store.CorruptStore},
	{"absent", "present", store.CorruptStore, store.CorruptStore},
	{"empty", "absent", nil, store.NotRoot},
	{"empty", "empty", nil, store.NotRoot},
	{"empty", "present", nil, nil},
	{"torn", "absent", store.CorruptStore, store.CorruptStore},
	{"torn", "empty", store.CorruptStore, store.CorruptStore},
	{"torn", "present", nil, nil},
	{"present", "absent", store.CorruptStore, store.CorruptStore},
	{"present", "empty", store.CorruptStore, store.CorruptStore},
	{"present", "present", nil, nil},
}

func TestEveryStateOfTheTruth(t *testing.T) {
	for _, c := range truthStates {
		t.Run(c.log+" log, "+c.arena+" arena", func(t *testing.T) {
			fsys, dir := newRoot(t, blob(1))
			bring(t, filepath.Join(dir, root.RecordLog), c.log)
			bring(t, filepath.Join(dir, root.Records), c.arena)
			for _, o := range openers[1:] {
				if c.open == nil {
					continue
				}
				unchanged(t, dir, func() { kind(t, o.open(t, fsys, dir), c.open) })
			}
			if c.create != nil {
				unchanged(t, dir, func() { kind(t, openers[0].open(t, fsys, dir), c.create) })
				return
			}
			must(t, openers[0].open(t, fsys, dir))
			all, err := contents(t, fsys, dir)
			must(t, err)
			if want := map[bool]int{true: 1, false: 0}[c.log == "present"]; len(all) != want {
				t.Errorf("%d records, want %d", len(all), want)
			}
		})
	}
}

func bring(t *testing.T, path, state string) {
	t.Helper()
	switch state {
	case "absent":
		must(t, os.Remove(path))
	case "empty":
		must(t, os.Truncate(path, 0))
	case "torn":
		must(t, os.Truncate(path, 63))
	}
}

func TestInterruptedCreationIsFinished(t *testing.T) { subject.InterruptedCreationIsFinished(t) }

func TestInterruptedCreationIsFinishedAfterASecondCrash(t *testing.T) {
	subject.InterruptedCreationIsFinishedAfterASecondCrash(t)
}
