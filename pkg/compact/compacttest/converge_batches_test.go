package compacttest_test

import (
	"errors"
	"math/rand/v2"
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

// TestKilledEveryFewBatches kills a compaction of many batches after every few
// of them until it is done. All runs together write at most a tenth more than
// one run, and one batch for each kill; there is one temporary at most at any
// time; and the last run reports all that the plan determines like one run.
func TestKilledEveryFewBatches(t *testing.T) {
	s := manyBatches()
	plain := compacttest.Plain{Truncate: true}
	one := faultfs.New(built(t, s, crashfs.Options{}), compacttest.Dir)
	want, err := plain.Compact(t.Context(), one, compacttest.Dir, s.Set(), settings(s))
	if err != nil {
		t.Fatal(err)
	}
	single, states := volume(one), one.Count(renameTo(root.State))
	if states < 20 {
		t.Fatalf("%d states, want many batches", states)
	}
	// A batch is its rows, their journal with the header and an index for each
	// of them, and the state.
	rows := s.Journal/uint64(len(s.Records[0])) + 1
	batch := int64(2*s.Journal + 8 + 8*rows + 24)
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 9))
		fsys, total, kills := built(t, s, crashfs.Options{}), int64(0), int64(0)
		var last compact.Report
		for {
			calls := faultfs.New(fsys, compacttest.Dir)
			killAfterBatches(calls, random)
			before := temporaries(t, fsys)
			if kills == 0 {
				last, err = plain.Compact(t.Context(), calls, compacttest.Dir, s.Set(), settings(s))
			} else {
				last, err = plain.Resume(t.Context(), calls, compacttest.Dir, settings(s))
			}
			total += volume(calls)
			checkTemporaryCalls(t, before, calls)
			if err == nil {
				break
			}
			if !errors.Is(err, crashfs.ErrCrashed) {
				t.Fatalf("seed %d after %d kills: %v", seed, kills, err)
			}
			kills++
			fsys = fsys.Clone()
		}
		if most := single + single/10 + kills*batch; total > most || kills < 5 {
			t.Errorf("seed %d: %d bytes written with %d kills, want at most %d (one run: %d) and 5 kills", seed, total, kills, most, single)
		}
		t.Logf("seed %d: %d kills, %d bytes written, %d by one run: %.2f times, less a batch per kill %.2f times",
			seed, kills, total, single, float64(total)/float64(single), float64(total-kills*batch)/float64(single))
		if determined(last) != determined(want) {
			t.Errorf("seed %d: after %d kills the report has %+v, after one run %+v", seed, kills, determined(last), determined(want))
		}
		// The digest is gone with the old rows when only the release was left.
		if last.Digest != want.Digest && last.Digest != [32]byte{} {
			t.Errorf("seed %d: digest %x, want %x", seed, last.Digest, want.Digest)
		}
		if err := finishes(s, fsys); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// manyBatches is a shape of which only the first record goes, and a journal
// that holds some five of the others: they overlap their own destinations, so
// that every batch has a journal. The first record is the shortest.
func manyBatches() *compacttest.Shape {
	var lengths []int
	stays := ""
	for i := range 165 {
		lengths = append(lengths, 20+i)
		stays += "k"
	}
	return compacttest.Scripted(lengths, "r"+stays[1:], 700)
}

func renameTo(name string) func(faultfs.Call) bool {
	return func(c faultfs.Call) bool { return c.Op == faultfs.Rename && c.To == name }
}

// killAfterBatches ends a run at the second to fourth time that a step of a
// batch comes: its journal, its writes, their sync, or the state behind them.
func killAfterBatches(calls *faultfs.FS, random *rand.Rand) {
	steps := []func(faultfs.Call) bool{
		renameTo(root.Journal), faultfs.On(faultfs.Write, root.Records), faultfs.On(faultfs.Sync, root.Records), renameTo(root.State),
	}
	step, left, dead := steps[random.IntN(len(steps))], 2+random.IntN(3), false
	calls.Inject(faultfs.Fault{Err: crashfs.ErrCrashed, KeepFailing: true, At: 1, Match: func(c faultfs.Call) bool {
		if !dead && step(c) {
			left--
			dead = left == 0
		}
		return dead && faultfs.Changing(c)
	}})
}

// temporaries are the ones that a root has.
func temporaries(t *testing.T, fsys vfs.FS) map[string]bool {
	t.Helper()
	entries, err := fsys.ReadDir(compacttest.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name, vfs.TempSuffix) {
			all[e.Name] = true
		}
	}
	return all
}

// checkTemporaryCalls follows the temporaries through the calls of a run.
func checkTemporaryCalls(t *testing.T, there map[string]bool, calls *faultfs.FS) {
	t.Helper()
	for _, c := range calls.Calls(faultfs.Changing) {
		name := filepath.ToSlash(c.Path)
		switch {
		case c.Err != nil || !strings.HasSuffix(name, vfs.TempSuffix):
		case c.Op == faultfs.Create:
			there[name] = true
		case c.Op == faultfs.Rename || c.Op == faultfs.Remove:
			delete(there, name)
		}
		if len(there) > 1 {
			t.Fatalf("at %v there are temporaries %v", c, there)
		}
	}
}

// fromPlan is what a plan determines of a report.
type fromPlan struct {
	boundary, retained, removed, released, moved uint64
	release                                      compact.Release
}

func determined(r compact.Report) fromPlan {
	return fromPlan{uint64(r.Boundary), r.Retained.Records, r.Removed.Records, r.Released, r.Moved, r.Release}
}
