package ui_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/cmd/internal/ui"
)

// clock is a time that tests move by hand.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.Unix(0, 0)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

// beats lets the display beat as often as a run does, for so long.
func beats(p *ui.Progress, c *clock, d time.Duration) {
	for ; d > 0; d -= ui.BeatInterval {
		c.advance(ui.BeatInterval)
		p.Beat()
	}
}

// wantText compares what a display wrote, line by line for whoever reads it.
func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("it wrote:\n%s\nwant:\n%s", got, want)
	}
}

func TestPlainProgressIsAFewLines(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressAuto, c.now) // a strings.Builder is no terminal
	for i := range uint64(91) {
		p.Update("move", i<<20, 100<<20, "bytes")
		beats(p, c, time.Second)
	}
	p.Update("move", 100<<20, 100<<20, "bytes")
	p.Update("release", 1, 1, "files")
	p.Close()
	wantText(t, out.String(), `lace: move: 29 MiB of 100 MiB (29.0%), 30s so far, about 1m10s to go
lace: move: 59 MiB of 100 MiB (59.0%), 1m0s so far, about 40s to go
lace: move: 89 MiB of 100 MiB (89.0%), 1m30s so far, about 10s to go
lace: move: 100 MiB of 100 MiB (100.0%) in 1m31s
lace: release: 1 of 1 files (100.0%) in 0s
`)
}

// A phase that counts nothing, and one whose next count takes long, say twice a
// minute that they go on and for how long. Every phase that another one follows
// has a line of its own at its end.
func TestSilentPhasesBeat(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Beat() // before the first phase there is nothing to tell
	p.Enter("open")
	beats(p, c, 65*time.Second)
	p.Enter("open") // it is the same one
	beats(p, c, 10*time.Second)
	p.Enter("plan")
	beats(p, c, 10*time.Second)
	p.Enter("move")
	beats(p, c, 40*time.Second)
	p.Update("move", 90, 100, "rows")
	beats(p, c, 10*time.Second)
	p.Update("move", 95, 100, "rows")
	beats(p, c, 40*time.Second)
	p.Close()
	wantText(t, out.String(), `lace: open: 30s so far
lace: open: 1m0s so far
lace: open in 1m15s
lace: plan in 10s
lace: move: 30s so far
lace: move: 95 of 100 rows (95.0%), 1m0s so far
lace: move: 95 of 100 rows (95.0%), 1m30s so far
lace: move: 95 of 100 rows (95.0%) in 1m30s
`)
}

// A command that did nothing but look at a root, or was refused at once, leaves
// no line about it; one that took long does.
func TestLookingIsNotTold(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Enter("open")
	beats(p, c, 29*time.Second)
	p.Close()
	wantText(t, out.String(), "")
	p.Enter("open")
	beats(p, c, 31*time.Second)
	p.Close()
	wantText(t, out.String(), "lace: open: 30s so far\nlace: open in 31s\n")
}

// Events of a phase that counts nothing have no total, which no count exceeds.
func TestPhasesAreAnnouncedInJSON(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressJSON, c.now)
	p.Enter("open")
	beats(p, c, 31*time.Second)
	p.Enter("sweep")
	p.Update("sweep", 3, 4, "records")
	p.Close()
	wantText(t, out.String(), `{"event":"progress","phase":"open","done":0,"total":0,"unit":"","elapsed_s":0}
{"event":"progress","phase":"open","done":0,"total":0,"unit":"","elapsed_s":30}
{"event":"progress","phase":"open","done":0,"total":0,"unit":"","elapsed_s":31}
{"event":"progress","phase":"sweep","done":0,"total":0,"unit":"","elapsed_s":0}
{"event":"progress","phase":"sweep","done":3,"total":4,"unit":"records","elapsed_s":0}
{"event":"progress","phase":"sweep","done":3,"total":4,"unit":"records","elapsed_s":0}
`)
}

// A line on request comes at any time, and moves the others by nothing.
func TestLineOnRequest(t *testing.T) {
	for mode, want := range map[string]string{
		ui.ProgressPlain: `lace: open: 7s so far
lace: open in 7s
lace: move: 25 of 100 rows (25.0%), 10s so far, about 30s to go
lace: move: 25 of 100 rows (25.0%), 30s so far, about 10s to go
lace: move: 25 of 100 rows (25.0%) in 30s
`,
		ui.ProgressJSON: `{"event":"progress","phase":"open","done":0,"total":0,"unit":"","elapsed_s":0}
{"event":"progress","phase":"open","done":0,"total":0,"unit":"","elapsed_s":7}
{"event":"progress","phase":"open","done":0,"total":0,"unit":"","elapsed_s":7}
{"event":"progress","phase":"move","done":0,"total":0,"unit":"","elapsed_s":0}
{"event":"progress","phase":"move","done":0,"total":100,"unit":"rows","elapsed_s":0}
{"event":"progress","phase":"move","done":25,"total":100,"unit":"rows","elapsed_s":10,"eta_s":30}
{"event":"progress","phase":"move","done":25,"total":100,"unit":"rows","elapsed_s":30,"eta_s":10}
{"event":"progress","phase":"move","done":25,"total":100,"unit":"rows","elapsed_s":30,"eta_s":10}
`,
		ui.ProgressNone: "",
	} {
		t.Run(mode, func(t *testing.T) {
			var out strings.Builder
			c := newClock()
			p := ui.NewProgress(&out, mode, c.now)
			p.Line() // before the first phase there is nothing to tell
			p.Enter("open")
			beats(p, c, 7*time.Second)
			p.Line()
			p.Enter("move")
			p.Update("move", 0, 100, "rows")
			beats(p, c, 10*time.Second)
			p.Update("move", 25, 100, "rows")
			p.Line()
			beats(p, c, 20*time.Second)
			p.Close()
			p.Line() // after the last one likewise
			wantText(t, out.String(), want)
		})
	}
}

// A resumed run starts at its cursor, and its estimate counts its own work
// alone, from its first count on: opening and finding the cursor are no part of
// the rate.
func TestResumedRunStartsAtItsCursor(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Enter("move")
	beats(p, c, 20*time.Second)
	p.Update("move", 900, 1000, "rows")
	p.Line()
	beats(p, c, 10*time.Second)
	p.Update("move", 920, 1000, "rows")
	p.Line()
	p.Close()
	wantText(t, out.String(), `lace: move: 900 of 1,000 rows (90.0%), 20s so far
lace: move: 900 of 1,000 rows (90.0%), 30s so far
lace: move: 920 of 1,000 rows (92.0%), 30s so far, about 40s to go
lace: move: 920 of 1,000 rows (92.0%) in 30s
`)
}

// An estimate is told once there is something to estimate from, runs down
// between two counts, follows the rate, and is none when it has run out.
func TestEstimate(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	for _, step := range []struct {
		name  string
		after time.Duration
		done  uint64
		want  string
	}{
		{"at first", 0, 0, ""},
		{"too soon", 4 * time.Second, 500, ""},
		{"soon enough", time.Second, 1000, "45s"},
		{"it runs down", 40 * time.Second, 1000, "5s"},
		{"it has run out", 5 * time.Second, 1000, ""},
		{"and stays out", 24 * time.Hour, 1000, ""},
		{"a count that goes back is none", time.Second, 10, ""},
		{"the next count tells another rate", 0, 5000, "24h0m51s"},
		{"almost all", 0, 9999, "9s"},
		{"all", 0, 10000, ""},
		{"more than all", time.Minute, 11000, ""},
	} {
		c.advance(step.after)
		p.Update("move", step.done, 10000, "rows")
		out.Reset()
		p.Line()
		_, got, _ := strings.Cut(strings.TrimSuffix(out.String(), " to go\n"), ", about ")
		if got != step.want {
			t.Errorf("%s: %q, want %q: %s", step.name, got, step.want, &out)
		}
	}
}

// A rate that nothing but the first moments shows foretells nothing: a hundredth
// of the work must be done, so no estimate is a hundred times what is behind.
func TestNoEstimateOfALittle(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Update("move", 0, 1<<40, "bytes")
	c.advance(time.Hour)
	p.Update("move", 1, 1<<40, "bytes")
	p.Line()
	c.advance(time.Hour)
	p.Update("move", 1<<40/100+1, 1<<40, "bytes")
	p.Line()
	p.Close()
	wantText(t, out.String(), `lace: move: 1 B of 1.0 TiB (0.0%), 1h0m0s so far
lace: move: 1 B of 1.0 TiB (0.0%), 1h0m0s so far
lace: move: 10 GiB of 1.0 TiB (1.0%), 2h0m0s so far, about 198h0m0s to go
lace: move: 10 GiB of 1.0 TiB (1.0%), 2h0m0s so far, about 198h0m0s to go
lace: move: 10 GiB of 1.0 TiB (1.0%) in 2h0m0s
`)
}

// 100 % is said only of what is done, however close the rest comes to it.
func TestPercentIsRoundedDown(t *testing.T) {
	for _, of := range []struct {
		done, total uint64
		want        string
	}{
		{0, 3, "0 of 3 rows (0.0%)"},
		{1, 3, "1 of 3 rows (33.3%)"},
		{29, 100, "29 of 100 rows (29.0%)"},
		{999_999, 1_000_000, "999,999 of 1,000,000 rows (99.9%)"},
		{1<<63 - 2, 1<<63 - 1, "9,223,372,036,854,775,806 of 9,223,372,036,854,775,807 rows (99.9%)"},
		{1<<63 - 1, 1<<63 - 1, "9,223,372,036,854,775,807 of 9,223,372,036,854,775,807 rows (100.0%)"},
		{4, 3, "3 of 3 rows (100.0%)"},
		{0, 0, "0 of 0 rows"},
		{1, 0, "0 of 0 rows"},
	} {
		var out strings.Builder
		p := ui.NewProgress(&out, ui.ProgressPlain, newClock().now)
		p.Update("move", of.done, of.total, "rows")
		p.Close()
		wantText(t, out.String(), "lace: move: "+of.want+" in 0s\n")
	}
}

// Whatever the counts and the totals do: what is shown never goes
// back and is never over 100 %, the total of a phase is one, and an estimate is
// of this run's own work, never below zero and less than a hundred times what is
// behind it.
func TestProgressIsMonotonicAndBounded(t *testing.T) {
	type event struct {
		Phase       string
		Done, Total uint64
		Unit        string
		Elapsed     float64  `json:"elapsed_s"`
		ETA         *float64 `json:"eta_s"`
	}
	rapid.Check(t, func(t *rapid.T) {
		var out strings.Builder
		c := newClock()
		p := ui.NewProgress(&out, ui.ProgressJSON, c.now)
		total := rapid.Uint64Range(0, 1<<40).Draw(t, "total")
		cursor := rapid.Uint64Range(0, total).Draw(t, "cursor")
		done := cursor
		p.Enter("move")
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			p.Update("move", done, total, "bytes")
			c.advance(time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "time")))
			p.Beat()
			p.Line()
			done = rapid.Uint64Range(0, total+total/8+1).Draw(t, "done")
			total = rapid.Uint64Range(total, total+total/8).Draw(t, "total")
		}
		p.Close()
		events := strings.Split(strings.TrimSpace(out.String()), "\n")
		last := event{Done: cursor}
		for _, line := range events[1:] { // the first one is that nothing is counted yet
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if e.Done < last.Done || e.Done > e.Total || e.Elapsed < 0 || last.Unit != "" && e.Total != last.Total {
				t.Fatalf("%+v after %+v:\n%s", e, last, &out)
			}
			if e.ETA != nil && (*e.ETA < 0 || *e.ETA > 100*e.Elapsed || e.Done == cursor || e.Done == e.Total) {
				t.Fatalf("the estimate of %+v, from %d on:\n%s", e, cursor, &out)
			}
			last = e
		}
	})
}

// A clock that is set back makes no time negative.
func TestClockSetBack(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Update("move", 0, 4, "rows")
	c.advance(-time.Hour)
	p.Update("move", 1, 4, "rows")
	p.Line()
	p.Close()
	wantText(t, out.String(), "lace: move: 1 of 4 rows (25.0%), 0s so far\nlace: move: 1 of 4 rows (25.0%) in 0s\n")
}

func TestNoneIsSilent(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressNone, c.now)
	p.Enter("open")
	beats(p, c, time.Hour)
	p.Update("move", 1, 2, "bytes")
	p.Line()
	beats(p, c, time.Hour)
	p.Update("move", 2, 2, "bytes")
	p.Close()
	wantText(t, out.String(), "")
}

// Between progress lines comes what is printed, and nothing of the display in
// its midst.
func TestPrint(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Update("move", 1, 2, "rows")
	p.Print(func(w io.Writer) { fmt.Fprintln(w, "lace: warning: a line between") })
	p.Close()
	wantText(t, out.String(), "lace: warning: a line between\nlace: move: 1 of 2 rows (50.0%) in 0s\n")
}

// Ticks become beats until the beats are stopped, and none comes after that.
func TestBeatsStop(t *testing.T) {
	var out strings.Builder
	c := newClock()
	p := ui.NewProgress(&out, ui.ProgressPlain, c.now)
	p.Enter("open")
	c.advance(30 * time.Second)
	ticks := make(chan time.Time)
	stop := p.Beats(ticks)
	ticks <- c.at
	ticks <- c.at // the first one is dealt with
	stop()
	wantText(t, out.String(), "lace: open: 30s so far\n")
	select {
	case ticks <- c.at:
		t.Error("a tick is taken after the stop")
	default:
	}
}
