package compacttest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// killAt ends a run at one changing call; every run must get past the first
// batch it meets, or nothing would ever end.
func killAt(calls *faultfs.FS, at int) {
	calls.Inject(faultfs.Fault{Match: faultfs.Changing, At: at, Err: crashfs.ErrCrashed, KeepFailing: true})
}

// TestRepeatedKillsConverge kills one compaction over and over. It always
// ends, there is one temporary at most at any time, and all runs together
// write little more than one, plus a batch for each kill.
func TestRepeatedKillsConverge(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for seed := uint64(0); seed < 40; seed++ {
		s := compacttest.NewShape(seed)
		one := faultfs.New(built(t, s, s.FS), compacttest.Dir)
		if _, err := (compacttest.Plain{}).Compact(t.Context(), one, compacttest.Dir, s.Set(), s.Settings(1)); err != nil {
			t.Fatal(err)
		}
		single, batch := volume(one), int64(s.Journal)
		fsys, total, kills := built(t, s, s.FS), int64(0), int64(0)
		for {
			h := compacttest.Adopt(compacttest.Plain{}, s, fsys)
			calls := faultfs.New(fsys, compacttest.Dir)
			if kills < 100 {
				killAt(calls, 12+random.IntN(20))
			}
			_, err := h.Step(calls)
			total += volume(calls)
			checkTemporaries(t, s, fsys)
			if err == nil {
				break
			}
			if !errors.Is(err, crashfs.ErrCrashed) {
				t.Fatalf("shape %d after %d kills: %v", seed, kills, err)
			}
			kills++
			fsys = fsys.Clone()
		}
		// The plan is written again when a kill comes before the state, and the
		// log when it comes behind step D; the batch with its journal each time.
		again := 2*batch + 8*int64(len(s.Records)) + (72+64)*int64(len(s.Records)) + 200
		if most := single + single/10 + kills*again; total > most {
			t.Errorf("shape %d: %d bytes written with %d kills, want at most %d (one run: %d)", seed, total, kills, most, single)
		}
		if err := finishes(s, fsys); err != nil {
			t.Errorf("after kills: %v", err)
		}
	}
}

// volume is the bytes that a run wrote.
func volume(calls *faultfs.FS) (n int64) {
	for _, c := range calls.Calls(faultfs.Changing) {
		if c.Op == faultfs.Write && c.Err == nil {
			n += c.Len
		}
	}
	return n
}

func checkTemporaries(t *testing.T, s *compacttest.Shape, fsys vfs.FS) {
	t.Helper()
	entries, err := fsys.ReadDir(compacttest.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var temporaries []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name, vfs.TempSuffix) {
			temporaries = append(temporaries, e.Name)
		}
	}
	if len(temporaries) > 1 {
		t.Errorf("shape %d: temporaries %q", s.Seed, temporaries)
	}
}

// TestSecondCompactionDoesNothing: what keeps everything changes nothing.
func TestSecondCompactionDoesNothing(t *testing.T) {
	s := scripted()
	fsys := built(t, s, crashfs.Options{})
	ctx := context.Background()
	if _, err := (compacttest.Plain{}).Compact(ctx, fsys, compacttest.Dir, s.Set(), settings(s)); err != nil {
		t.Fatal(err)
	}
	all := compacttest.Scripted([]int{0, 300, 310, 320, 330, 200, 210}, "kkkkkkk", 800)
	calls := faultfs.New(fsys, compacttest.Dir)
	report, err := compacttest.Plain{}.Compact(ctx, calls, compacttest.Dir, all.Set(), settings(s))
	if err != nil || report.Outcome != compact.NothingToDo || report.Removed != (compact.Count{}) || report.Retained.Records != 7 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := calls.Transcript(changes); got != "syncdir .\n" {
		t.Errorf("changes:\n%s", got)
	}
}

// TestResidueIsReleased: when nothing is removed, at least a MiB of storage
// behind the end is given back without compaction files.
func TestResidueIsReleased(t *testing.T) {
	s := compacttest.Scripted([]int{100, 200}, "kk", 800)
	for _, c := range []struct {
		residue int64
		want    string
	}{
		{1 << 18, "syncdir .\n"},
		{2 << 20, "syncdir .\npunch records [446, 32768)\nsync records\n"},
	} {
		fsys := built(t, s, crashfs.Options{})
		f, err := fsys.OpenFile(at(root.Records), vfs.ReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(make([]byte, c.residue), 1<<15)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		calls := faultfs.New(fsys, compacttest.Dir)
		report, err := compacttest.Plain{}.Compact(t.Context(), calls, compacttest.Dir, s.Set(), settings(s))
		if err != nil || report.Outcome != compact.NothingToDo {
			t.Errorf("%+v, %v", report, err)
		}
		if got := calls.Transcript(changes); got != c.want {
			t.Errorf("with %d bytes of residue:\n%swant:\n%s", c.residue, got, c.want)
		}
	}
}
