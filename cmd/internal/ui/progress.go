package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
)

// Progress modes, the values of --progress.
const (
	ProgressAuto  = "auto"
	ProgressBar   = "bar"
	ProgressPlain = "plain"
	ProgressJSON  = "json"
	ProgressNone  = "none"
)

// ProgressModes lists the values of --progress.
func ProgressModes() []string {
	return []string{ProgressAuto, ProgressBar, ProgressPlain, ProgressJSON, ProgressNone}
}

// plainInterval is the least time between two plain lines within a phase, and
// barInterval that between two redraws of the bar.
const (
	plainInterval = 30 * time.Second
	barInterval   = 100 * time.Millisecond
)

// Progress renders how far a run is. Each phase counts monotonically from its
// first value to its total. It is safe for concurrent use.
type Progress struct {
	w    io.Writer
	mode string
	now  func() time.Time

	mu         sync.Mutex
	phase      string
	unit       string
	first      uint64 // the count when the phase began: a resumed run starts at its cursor
	done       uint64
	total      uint64
	phaseStart time.Time
	lastShown  time.Time
	bar        *progressbar.ProgressBar
}

// NewProgress returns a Progress that writes to w. Mode auto is a bar on a
// terminal and plain lines elsewhere.
func NewProgress(w io.Writer, mode string, now func() time.Time) *Progress {
	p := &Progress{w: w, now: now}
	p.SetMode(mode)
	return p
}

// SetMode changes the mode before the first Update.
func (p *Progress) SetMode(mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mode == ProgressAuto {
		mode = ProgressPlain
		if _, ok := Terminal(p.w); ok {
			mode = ProgressBar
		}
	}
	p.mode = mode
}

// Update says that done of total units of a phase are finished. A new phase
// ends the one before it. Counts never go back and never pass the total.
func (p *Progress) Update(phase string, done, total uint64, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if phase != p.phase {
		p.endPhase()
		p.phase, p.unit, p.first, p.done, p.total = phase, unit, done, done, total
		p.phaseStart = p.now()
		p.lastShown = p.phaseStart
		p.startPhase()
		return
	}
	p.total = max(p.total, total)
	p.done = max(p.done, min(done, p.total))
	switch p.mode {
	case ProgressBar:
		if p.now().Sub(p.lastShown) >= barInterval {
			p.show()
		}
	case ProgressPlain, ProgressJSON:
		if p.now().Sub(p.lastShown) >= plainInterval {
			p.show()
		}
	}
}

// Line prints where the run is, once, whatever the interval.
func (p *Progress) Line() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == "" {
		return
	}
	switch p.mode {
	case ProgressBar, ProgressPlain:
		p.clearBar()
		fmt.Fprintln(p.w, p.plainLine(p.eta(", about %s to go")))
	case ProgressJSON:
		p.writeEvent()
	}
}

// Print lets write put whole lines on the stream of the display: a bar is
// cleared before, and drawn again when it is due.
func (p *Progress) Print(write func(w io.Writer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == ProgressBar {
		p.clearBar()
	}
	write(p.w)
}

// Close ends the last phase.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endPhase()
	p.phase = ""
}

func (p *Progress) startPhase() {
	switch p.mode {
	case ProgressBar:
		p.bar = progressbar.NewOptions64(int64(max(p.total, 1)),
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription(p.describe()),
			progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(),
		)
		p.show()
	case ProgressJSON:
		p.show()
	}
}

// endPhase prints the one line that stays of a phase.
func (p *Progress) endPhase() {
	if p.phase == "" {
		return
	}
	switch p.mode {
	case ProgressBar, ProgressPlain:
		p.clearBar()
		fmt.Fprintln(p.w, p.plainLine(" in "+p.now().Sub(p.phaseStart).Round(time.Millisecond).String()))
	case ProgressJSON:
		p.show()
	}
	p.bar = nil
}

func (p *Progress) clearBar() {
	if p.bar != nil {
		_ = p.bar.Clear() // a terminal that cannot be written to ends nothing
	}
}

func (p *Progress) show() {
	p.lastShown = p.now()
	switch p.mode {
	case ProgressBar:
		p.bar.Describe(p.describe())
		_ = p.bar.Set64(int64(p.done)) // likewise
	case ProgressPlain:
		fmt.Fprintln(p.w, p.plainLine(p.eta(", about %s to go")))
	case ProgressJSON:
		p.writeEvent()
	}
}

func (p *Progress) writeEvent() {
	event := struct {
		Event   string   `json:"event"`
		Phase   string   `json:"phase"`
		Done    uint64   `json:"done"`
		Total   uint64   `json:"total"`
		Unit    string   `json:"unit"`
		Elapsed float64  `json:"elapsed_s"`
		ETA     *float64 `json:"eta_s,omitempty"`
	}{"progress", p.phase, p.done, p.total, p.unit, p.now().Sub(p.phaseStart).Seconds(), nil}
	if left, ok := p.remaining(); ok {
		seconds := left.Seconds()
		event.ETA = &seconds
	}
	line, err := json.Marshal(event)
	if err != nil {
		panic("ui: progress event: " + err.Error()) // numbers and strings always marshal
	}
	fmt.Fprintf(p.w, "%s\n", line)
}

// describe is what stands in front of the bar.
func (p *Progress) describe() string {
	return fmt.Sprintf("%-8s %s", p.phase, p.counts())
}

// counts renders done of total.
func (p *Progress) counts() string {
	if p.unit == "bytes" {
		return humanize.IBytes(p.done) + " of " + humanize.IBytes(p.total)
	}
	return Count(p.done) + " of " + Count(p.total) + " " + p.unit
}

func (p *Progress) plainLine(suffix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "lace: %s: %s", p.phase, p.counts())
	if p.total > 0 {
		fmt.Fprintf(&b, " (%.1f%%)", 100*float64(p.done)/float64(p.total))
	}
	return b.String() + suffix
}

func (p *Progress) eta(format string) string {
	left, ok := p.remaining()
	if !ok {
		return ""
	}
	return fmt.Sprintf(format, left.Round(time.Second))
}

// remaining estimates from this run's own rate, or not at all.
func (p *Progress) remaining() (time.Duration, bool) {
	elapsed := p.now().Sub(p.phaseStart)
	if p.done <= p.first || p.total <= p.done || elapsed < time.Second {
		return 0, false
	}
	perUnit := elapsed.Seconds() / float64(p.done-p.first)
	return time.Duration(perUnit * float64(p.total-p.done) * float64(time.Second)), true
}
