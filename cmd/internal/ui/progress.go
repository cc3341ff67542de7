package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
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

// plainInterval is the time between two lines within a phase, and barInterval
// the least time between two drawings of the bar.
const (
	plainInterval = 30 * time.Second
	barInterval   = 100 * time.Millisecond
)

// BeatInterval is how often a Progress wants a Beat. A line that is due comes at
// most this late.
const BeatInterval = time.Second

// Progress renders how far a run is. A run goes from phase to phase; each only
// lasts until something of it is counted, and then counts up to a total. What is
// shown never goes back and never passes the total. It is safe for concurrent
// use.
type Progress struct {
	w       io.Writer
	now     func() time.Time
	columns func() int

	mu    sync.Mutex
	mode  string
	phase phase
	shown time.Time // when the phase was last shown, or else began
	drawn int       // columns of the bar that is on the terminal
}

// NewProgress returns a Progress that writes to w.
func NewProgress(w io.Writer, mode string, now func() time.Time) *Progress {
	p := &Progress{w: w, now: now, columns: func() int { return Columns(w) }}
	p.SetMode(mode)
	return p
}

// SetMode changes the mode before the first phase. Auto is a bar on a terminal
// that can show one; and whatever is asked for, there are only lines where no
// terminal is, so that a log has no control characters.
func (p *Progress) SetMode(mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case mode == ProgressAuto && Terminal(p.w):
		mode = ProgressBar
	case mode == ProgressAuto, mode == ProgressBar && !IsTerminal(p.w):
		mode = ProgressPlain
	}
	p.mode = mode
}

// Enter begins a phase of which nothing is counted yet, and ends the one before
// it. To enter the phase at hand again changes nothing.
func (p *Progress) Enter(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enter(name) && p.mode != ProgressPlain {
		p.show()
	}
}

// Update says that done of total units of a phase are finished; a phase that is
// not the one at hand is entered. The first count of a phase is where this run
// begins, which of a resumed one is its cursor. Its total is the total of the
// phase.
func (p *Progress) Update(name string, done, total uint64, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter(name)
	if first := p.phase.update(done, total, unit, p.now()); first && p.mode != ProgressPlain {
		p.show()
		return
	}
	p.showWhenDue()
}

// Beat shows where the run is if that is due, so that a phase which counts
// nothing for long is not silent.
func (p *Progress) Beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase.name != "" {
		p.showWhenDue()
	}
}

// Beats lets the display beat at every tick until the returned function is
// called. After that it does no more.
func (p *Progress) Beats(ticks <-chan time.Time) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticks:
				p.Beat()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// Line prints where the run is now, whatever is due; nothing before the first
// phase. A signal asks for it.
func (p *Progress) Line() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.phase.name == "":
	case p.mode == ProgressBar || p.mode == ProgressPlain:
		p.println(p.phase.line(p.now()))
	case p.mode == ProgressJSON:
		p.writeEvent()
	}
}

// Print writes a message between progress lines; a bar that is drawn goes out
// of its way and comes back with the next drawing.
func (p *Progress) Print(write func(w io.Writer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	write(p.w)
}

// Close ends the last phase. The display can be used again. Of a phase that
// counted nothing the end is told only if the phase was: a command that did
// nothing but look, or that was refused at once, needs no word about it.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(p.phase.counted || p.phase.told)
	p.phase = phase{}
}

// enter says whether the phase is a new one.
func (p *Progress) enter(name string) bool {
	if name == p.phase.name {
		return false
	}
	p.end(true)
	p.phase = phase{name: name, began: p.now()}
	p.shown = p.phase.began
	return true
}

// end prints the one line that stays of a phase, if it is to be told.
func (p *Progress) end(told bool) {
	switch {
	case p.phase.name == "":
	case p.mode == ProgressBar || p.mode == ProgressPlain:
		p.erase()
		if told {
			p.println(p.phase.lastLine(p.now()))
		}
	case p.mode == ProgressJSON:
		p.writeEvent()
	}
}

func (p *Progress) showWhenDue() {
	interval := plainInterval
	if p.mode == ProgressBar {
		interval = barInterval
	}
	if p.now().Sub(p.shown) >= interval {
		p.show()
	}
}

func (p *Progress) show() {
	now := p.now()
	p.shown = now
	switch p.mode {
	case ProgressBar:
		p.draw(p.phase, now)
	case ProgressPlain:
		p.println(p.phase.line(now))
	case ProgressJSON:
		p.writeEvent()
	}
}

// println prints a line about the phase, which is told then.
func (p *Progress) println(line string) {
	p.erase()
	p.phase.told = true
	// A display that cannot be written to ends nothing.
	_, _ = fmt.Fprintln(p.w, "lace: "+line)
}

func (p *Progress) writeEvent() {
	now := p.now()
	event := struct {
		Event   string   `json:"event"`
		Phase   string   `json:"phase"`
		Done    uint64   `json:"done"`
		Total   uint64   `json:"total"`
		Unit    string   `json:"unit"`
		Elapsed float64  `json:"elapsed_s"`
		ETA     *float64 `json:"eta_s,omitempty"`
	}{"progress", p.phase.name, p.phase.done, p.phase.total, p.phase.unit, inSeconds(p.phase.elapsed(now)), nil}
	if left, ok := p.phase.remaining(now); ok {
		eta := inSeconds(left)
		event.ETA = &eta
	}
	line, err := json.Marshal(event)
	if err != nil {
		panic("ui: progress event: " + err.Error()) // numbers and strings always marshal
	}
	_, _ = fmt.Fprintf(p.w, "%s\n", line) // as println
}

// inSeconds is a duration as events have it: finer than a millisecond is noise.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
