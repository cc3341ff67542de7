package native_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files and tables")

// durability keeps the calls that the order of durability is about.
func durability(c faultfs.Call) bool { return faultfs.Changing(c) && c.Err == nil }

// golden compares with testdata/NAME.txt, where a sync that is missing is a
// difference of one line.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it):\n%s\nwant:\n%s", path, got, want)
	}
}

// recorded does something with a store that is open, and returns the calls.
func recorded(t *testing.T, base vfs.FS, open func(vfs.FS) (*native.Store, error), act func(*native.Store) error) string {
	t.Helper()
	fsys := faultfs.New(base, "/root")
	s, err := open(fsys)
	must(t, err)
	if act != nil {
		fsys.Forget()
		must(t, act(s))
	}
	must(t, s.Close())
	return fsys.Transcript(durability)
}

func opened(fsys vfs.FS) (*native.Store, error) {
	return native.Open(context.Background(), "/root", native.Options{FS: fsys})
}

func created(fsys vfs.FS) (*native.Store, error) {
	return native.Create(context.Background(), "/root", native.Options{FS: fsys, Capacity: minCapacity})
}

// asked asks for one key: twice is worth a posting list, and often is worth
// publishing a list that has grown.
func asked(times int) func(*native.Store) error {
	return func(s *native.Store) error {
		for range times {
			_, err := s.Execute(store.FindRecords{
				Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
				UpperInclusive: store.Latest, MaxRows: store.Unbounded,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// TestTranscriptsOfAStore pins the order of durability of everything but a
// compaction.
func TestTranscriptsOfAStore(t *testing.T) {
	listed := func(t *testing.T, base vfs.FS) {
		recorded(t, base, opened, asked(2))
		recorded(t, base, opened, func(s *native.Store) error { _, err := admit(s, blob(7)); return err })
	}
	for _, c := range []struct {
		name string
		base func(*testing.T, *crashfs.FS)
		open func(vfs.FS) (*native.Store, error)
		act  func(*native.Store) error
	}{
		{"create", nil, created, nil},
		{"create-over-a-marker", func(t *testing.T, f *crashfs.FS) {
			must(t, f.Mkdir("/root"))
			put(t, f, "/root/"+root.Marker, root.NativeMarker[:7])
		}, created, nil},
		{"open", builtRoot, opened, nil},
		{"open-with-torn-row", func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			put(t, f, "/root/"+root.RecordLog, get(t, f, "/root/"+root.RecordLog)+"torn")
		}, opened, nil},
		{"open-with-lost-row", func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			log := get(t, f, "/root/"+root.RecordLog)
			put(t, f, "/root/"+root.RecordLog, log[:64]+string(make([]byte, 64))+log[128:])
		}, opened, nil},
		{"open-cleans", func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			must(t, f.Mkdir("/root/"+root.Staging))
			put(t, f, "/root/"+root.Staging+"/1", "staged")
			must(t, f.Mkdir("/root/"+root.IndexStart+"v1"))
		}, opened, nil},
		{"admit", builtRoot, opened, func(s *native.Store) error { _, err := admit(s, blobs(10, 13)...); return err }},
		{"admit-duplicates", builtRoot, opened, func(s *native.Store) error { _, err := admit(s, blob(1)); return err }},
		{"index-publication", builtRoot, opened, asked(2)},
		{"index-republication", func(t *testing.T, f *crashfs.FS) { builtRoot(t, f); listed(t, f) }, opened, asked(8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := model()
			if c.base != nil {
				c.base(t, base)
			}
			golden(t, c.name, recorded(t, base, c.open, c.act))
		})
	}
}

func builtRoot(t *testing.T, base *crashfs.FS) { build(t, base, "/root", blobs(0, 3)...) }

// phases are moments at which a compaction is killed, before the first, or
// n-th, call that matches took effect.
var phases = []struct {
	name string
	op   faultfs.Op
	path string
	nth  int
}{
	{"a-plan", faultfs.Rename, root.Plan + vfs.TempSuffix, 1},
	{"b-state", faultfs.Rename, root.State + vfs.TempSuffix, 1},
	{"b-indexes", faultfs.Remove, root.Indexes, 1},
	{"c-journal", faultfs.Rename, root.Journal + vfs.TempSuffix, 1},
	{"c-move", faultfs.Sync, root.Records, 2}, // the first is of the opening
	{"c-cursor", faultfs.Rename, root.State + vfs.TempSuffix, 2},
	{"c-unjournaled", faultfs.Sync, root.Records, 4},
	{"d-publish", faultfs.Rename, root.RecordLog + vfs.TempSuffix, 1},
	{"e-release", faultfs.Punch, root.Records, 1},
	{"f-state", faultfs.Remove, root.State, 1},
	{"f-plan", faultfs.Remove, root.Plan, 1},
}

// TestTranscriptsOfACompaction pins the order of durability of a compaction,
// and of the resume from every phase.
func TestTranscriptsOfACompaction(t *testing.T) {
	shape := compacttest.Scripted([]int{0, 30, 300, 310, 320, 330, 600, 200, 210}, "k-kkkk-kk", 800)
	settings := compacttest.Settings{Journal: shape.Journal, Run: compact.Options{Buffer: 1 << 12, WorthGap: 600}}
	base := model()
	must(t, errors.Join(subject{}.Build(base, compacttest.Dir, shape.Records), base.SyncDir("/")))

	fsys := faultfs.New(base.Clone(), compacttest.Dir)
	_, err := subject{}.Compact(t.Context(), fsys, compacttest.Dir, shape.Set(), settings)
	must(t, err)
	golden(t, "compact", fsys.Transcript(durability))
	for _, phase := range phases {
		t.Run(phase.name, func(t *testing.T) {
			disk, seen := base.Clone(), 0
			first := faultfs.New(disk, compacttest.Dir)
			first.Inject(faultfs.Fault{Err: crashfs.ErrCrashed, KeepFailing: true, Match: func(c faultfs.Call) bool {
				if faultfs.On(phase.op, phase.path)(c) {
					seen++
				}
				return seen >= phase.nth
			}})
			if _, err := (subject{}).Compact(t.Context(), first, compacttest.Dir, shape.Set(), settings); err == nil {
				t.Fatal("not killed")
			}
			next := faultfs.New(disk.Clone(), compacttest.Dir)
			report, err := subject{}.Resume(t.Context(), next, compacttest.Dir, settings)
			must(t, err)
			golden(t, "resume-"+phase.name, next.Transcript(durability)+fmt.Sprintf("outcome %s\n", report.Outcome))
		})
	}
}
