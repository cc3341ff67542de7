package compacttest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// scripted is a root in three batches: the first two overlap their sources,
// and from the gap of the last on none does.
func scripted() *compacttest.Shape {
	return compacttest.Scripted([]int{0, 30, 300, 310, 320, 330, 600, 200, 210}, "k-kkkk-kk", 800)
}

// phases are moments at which a compaction is killed: at the first call that
// matches, before it took effect.
var phases = []struct {
	name  string
	match func(faultfs.Call) bool
	nth   int
}{
	{"plan", faultfs.On(faultfs.Rename, root.Plan+vfs.TempSuffix), 1},
	{"begin", faultfs.On(faultfs.Rename, root.State+vfs.TempSuffix), 1},
	{"indexes", faultfs.On(faultfs.Remove, root.Indexes), 1},
	{"journal", faultfs.On(faultfs.Rename, root.Journal+vfs.TempSuffix), 1},
	{"first-move", faultfs.On(faultfs.Sync, root.Records), 1},
	{"second-journal", faultfs.On(faultfs.Rename, root.Journal+vfs.TempSuffix), 2},
	{"second-move", faultfs.On(faultfs.Sync, root.Records), 2},
	{"unjournaled-move", faultfs.On(faultfs.Sync, root.Records), 3},
	{"publish", faultfs.On(faultfs.Rename, root.RecordLog+vfs.TempSuffix), 1},
	{"release", faultfs.On(faultfs.Punch, root.Records), 1},
	{"finish-state", faultfs.On(faultfs.Remove, root.State), 1},
	{"finish-plan", faultfs.On(faultfs.Remove, root.Plan), 1},
}

// changes keeps what the order of durability is about, and which locks and
// reads lie between does not show.
func changes(c faultfs.Call) bool { return faultfs.Changing(c) && c.Err == nil }

func settings(s *compacttest.Shape) compacttest.Settings {
	return compacttest.Settings{Journal: s.Journal, Run: compact.Options{Buffer: 1 << 12, WorthGap: 600}}
}

// TestTranscripts pins the order of durability: of one run, and of the resume
// from every phase.
func TestTranscripts(t *testing.T) {
	s := scripted()
	fsys := faultfs.New(built(t, s, crashfs.Options{}), compacttest.Dir)
	if _, err := (compacttest.Plain{}).Compact(t.Context(), fsys, compacttest.Dir, s.Set(), settings(s)); err != nil {
		t.Fatal(err)
	}
	golden(t, "compact", fsys.Transcript(changes))
	for _, phase := range phases {
		t.Run(phase.name, func(t *testing.T) {
			base := built(t, s, crashfs.Options{})
			first := faultfs.New(base, compacttest.Dir)
			seen := 0
			first.Inject(faultfs.Fault{Err: crashfs.ErrCrashed, KeepFailing: true, Match: func(c faultfs.Call) bool {
				if phase.match(c) {
					seen++
				}
				return seen >= phase.nth
			}})
			if _, err := (compacttest.Plain{}).Compact(t.Context(), first, compacttest.Dir, s.Set(), settings(s)); err == nil {
				t.Fatal("not killed")
			}
			next := faultfs.New(base.Clone(), compacttest.Dir)
			report, err := compacttest.Plain{}.Resume(t.Context(), next, compacttest.Dir, settings(s))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "resume-"+phase.name, next.Transcript(changes)+fmt.Sprintf("outcome %s\n", report.Outcome))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it):\n%s\nwant:\n%s", path, got, want)
	}
	if strings.Count(got, "\n") < 2 {
		t.Errorf("%s is empty", path)
	}
}
