package compacttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// clock is a clock that stands but for the time that is waited, and a little
// for each look at it.
type clock struct {
	at    time.Time
	look  time.Duration
	waits int
	stop  context.CancelFunc // called in the first wait, unless nil
}

func (c *clock) now() time.Time {
	c.at = c.at.Add(c.look)
	return c.at
}

func (c *clock) wait(ctx context.Context, d time.Duration) {
	c.waits++
	if c.stop != nil {
		c.stop()
	}
	if ctx.Err() == nil {
		c.at = c.at.Add(d)
	}
}

// movedBytes sums what was read from and written to the arena and the journal.
func movedBytes(fsys *faultfs.FS) (sum int64) {
	for _, c := range fsys.Calls(func(c faultfs.Call) bool { return c.Op == faultfs.Read || c.Op == faultfs.Write }) {
		if c.Path == root.Records || c.Path == root.Journal+vfs.TempSuffix {
			sum += c.Len
		}
	}
	return sum
}

// A run is as slow as its limit says, also where it spends time elsewhere.
func TestIOLimitHolds(t *testing.T) {
	const limit = 500 // bytes a second
	for _, look := range []time.Duration{0, 20 * time.Millisecond} {
		s := scripted()
		fsys := faultfs.New(built(t, s, crashfs.Options{}), compacttest.Dir)
		c := &clock{at: time.Unix(0, 0), look: look}
		var begin, end time.Time
		var moved int64
		with := settings(s)
		with.Run.Buffer = 256
		with.Run.IOLimit, with.Run.Now, with.Run.Wait = limit, c.now, c.wait
		with.Run.Progress = func(p compact.Progress) {
			switch {
			case p.Phase == "move" && begin.IsZero():
				begin = c.at
				fsys.Forget()
			case p.Phase == "publish" && end.IsZero():
				end = c.at
				moved = movedBytes(fsys)
			}
		}
		if _, err := (compacttest.Plain{}).Compact(t.Context(), fsys, compacttest.Dir, s.Set(), with); err != nil {
			t.Fatal(err)
		}
		if moved < 4*limit {
			t.Fatalf("only %d bytes were read and written: too few to tell", moved)
		}
		rate := float64(moved) / end.Sub(begin).Seconds()
		if rate < 0.9*limit || rate > 1.1*limit {
			t.Errorf("%v a look: %d bytes in %v are %.0f a second, want %d", look, moved, end.Sub(begin), rate, limit)
		}
	}
}

// A stop request takes effect before the next batch, and the batch at hand is
// not held back any more.
func TestIOLimitYieldsToStop(t *testing.T) {
	s := scripted()
	fsys := built(t, s, crashfs.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := &clock{at: time.Unix(0, 0), stop: stop}
	with := settings(s)
	with.Run.Buffer = 256
	with.Run.IOLimit, with.Run.Now, with.Run.Wait = 1, c.now, c.wait
	_, err := (compacttest.Plain{}).Compact(ctx, fsys, compacttest.Dir, s.Set(), with)
	if !errors.Is(err, store.Interrupted) {
		t.Fatalf("got %v, want Interrupted", err)
	}
	if c.waits != 1 {
		t.Errorf("%d waits, want none behind the stop request", c.waits)
	}
	report, err := compacttest.Plain{}.Resume(t.Context(), fsys, compacttest.Dir, settings(s))
	if err != nil || report.Outcome != compact.Resumed {
		t.Errorf("resume: %v, %v", report.Outcome, err)
	}
}
