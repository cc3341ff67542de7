package ui_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/cmd/internal/ui"
)

// clock is a time that tests move by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func TestPlainProgressIsAFewLines(t *testing.T) {
	var out strings.Builder
	c := &clock{at: time.Unix(0, 0)}
	p := ui.NewProgress(&out, ui.ProgressAuto, c.now) // a strings.Builder is no terminal
	for i := range uint64(91) {
		p.Update("move", i<<20, 100<<20, "bytes")
		c.advance(time.Second)
	}
	p.Update("move", 100<<20, 100<<20, "bytes")
	p.Update("release", 1, 1, "files")
	p.Close()
	want := `lace: move: 30 MiB of 100 MiB (30.0%), about 1m10s to go
lace: move: 60 MiB of 100 MiB (60.0%), about 40s to go
lace: move: 90 MiB of 100 MiB (90.0%), about 10s to go
lace: move: 100 MiB of 100 MiB (100.0%) in 1m31s
lace: release: 1 of 1 files (100.0%) in 0s
`
	if out.String() != want {
		t.Errorf("plain progress:\n%s\nwant:\n%s", out.String(), want)
	}
}

// A resumed run starts at its cursor, and its estimate counts only its own
// work; a count that goes back or past the total is not shown.
func TestProgressIsMonotonicAndBounded(t *testing.T) {
	var out strings.Builder
	c := &clock{at: time.Unix(0, 0)}
	p := ui.NewProgress(&out, ui.ProgressJSON, c.now)
	p.Update("move", 90, 100, "bytes")
	c.advance(31 * time.Second)
	p.Update("move", 95, 100, "bytes")
	c.advance(31 * time.Second)
	p.Update("move", 80, 100, "bytes")
	c.advance(31 * time.Second)
	p.Update("move", 150, 100, "bytes")
	p.Close()
	var done []uint64
	var etas []float64
	for line := range strings.Lines(out.String()) {
		var e struct {
			Done, Total uint64
			ETA         *float64 `json:"eta_s"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		done = append(done, e.Done)
		if e.ETA != nil {
			etas = append(etas, *e.ETA)
		}
		if e.Done > e.Total {
			t.Errorf("%d of %d", e.Done, e.Total)
		}
	}
	if got, want := len(done), 5; got != want {
		t.Fatalf("%d events, want %d:\n%s", got, want, out.String())
	}
	for i := 1; i < len(done); i++ {
		if done[i] < done[i-1] {
			t.Errorf("progress went back: %v", done)
		}
	}
	if done[0] != 90 || done[len(done)-1] != 100 {
		t.Errorf("progress %v, want from 90 to 100", done)
	}
	if len(etas) == 0 || etas[0] < 30 || etas[0] > 32 {
		t.Errorf("estimates %v: five bytes took 31 s, so five more take 31 s", etas)
	}
}

func TestNoneIsSilent(t *testing.T) {
	var out strings.Builder
	c := &clock{at: time.Unix(0, 0)}
	p := ui.NewProgress(&out, ui.ProgressNone, c.now)
	p.Update("move", 1, 2, "bytes")
	p.Line()
	c.advance(time.Hour)
	p.Update("move", 2, 2, "bytes")
	p.Close()
	if out.Len() > 0 {
		t.Errorf("mode none wrote %q", out.String())
	}
}
