package compacttest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
)

// told is what a run tells of itself.
type told struct {
	phases []string           // announced, in order
	moved  []compact.Progress // of the move
}

// tell fills it while a run goes on, and stops the run at a number of counts of
// the move, unless that is 0.
func (o *told) tell(t *testing.T, run *compact.Options, stop context.CancelFunc, at int) {
	last := compact.Progress{}
	run.Phase = func(name string) { o.phases = append(o.phases, name) }
	run.Progress = func(p compact.Progress) {
		if len(o.phases) == 0 || o.phases[len(o.phases)-1] != p.Phase {
			t.Errorf("%+v is told, announced were %v", p, o.phases)
		}
		if p.Done > p.Total || p.Phase == last.Phase && (p.Done < last.Done || p.Total != last.Total) {
			t.Errorf("%+v after %+v", p, last)
		}
		if last = p; p.Phase != "move" {
			return
		}
		if o.moved = append(o.moved, p); len(o.moved) == at {
			stop()
		}
	}
}

// Every phase is announced before it counts anything, counts that never fall
// come up to its total, and the move of a resumed run begins where the one
// before had come to.
func TestResumeStartsAtItsCursor(t *testing.T) {
	between := 0
	for seed := uint64(0); seed < 200; seed++ {
		s := compacttest.NewShape(seed)
		for at := 0; at < 6; at++ {
			fsys := built(t, s, s.FS)
			ctx, stop := context.WithCancel(t.Context())
			settings, first, then := s.Settings(1), told{}, told{}
			first.tell(t, &settings.Run, stop, at)
			report, err := compacttest.Plain{}.Compact(ctx, fsys, compacttest.Dir, s.Set(), settings)
			stop()
			if err == nil {
				checkTold(t, seed, first, report)
				continue
			}
			if !errors.Is(err, store.Interrupted) {
				t.Fatal(err)
			}
			then.tell(t, &settings.Run, stop, 0)
			report, err = compacttest.Plain{}.Resume(t.Context(), fsys, compacttest.Dir, settings)
			if err != nil {
				t.Fatal(err)
			}
			checkTold(t, seed, then, report)
			from := first.moved[len(first.moved)-1]
			if then.moved[0] != from {
				t.Errorf("shape %d is stopped at %+v and goes on at %+v", seed, from, then.moved[0])
			}
			if len(first.moved) > 1 && len(then.moved) > 1 {
				between++
			}
		}
	}
	if between < 20 {
		t.Errorf("only %d runs were stopped between two batches", between)
	}
}

// checkTold compares what a run that came to its end told with its report.
func checkTold(t *testing.T, seed uint64, o told, report compact.Report) {
	t.Helper()
	var phases []string
	for _, p := range report.Phases {
		phases = append(phases, p.Name)
	}
	if !slices.Equal(o.phases, phases) {
		t.Errorf("shape %d announces %v, reported are %v", seed, o.phases, phases)
	}
	if n := len(o.moved); n > 0 && o.moved[n-1].Done != o.moved[n-1].Total {
		t.Errorf("shape %d ends its move at %+v", seed, o.moved[n-1])
	}
}
