package ui

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/dustin/go-humanize"
)

// phase is a part of a run and what is known of it. It never writes anything.
type phase struct {
	name    string
	began   time.Time
	told    bool // a line about it was printed
	counted bool // the fields below mean something
	unit    string
	first   uint64 // the first count: a resumed run starts at its cursor
	done    uint64
	total   uint64
	from    time.Time // when the first count was
	at      time.Time // when done last grew
}

// update takes a count, and says whether it is the first one.
func (p *phase) update(done, total uint64, unit string, now time.Time) (first bool) {
	if !p.counted {
		p.counted, p.unit, p.total = true, unit, total
		p.done = min(done, total)
		p.first, p.from, p.at = p.done, now, now
		return true
	}
	if done = min(done, p.total); done > p.done {
		p.done, p.at = done, now
	}
	return false
}

// elapsed is how long the phase lasts so far. A clock may be set back.
func (p *phase) elapsed(now time.Time) time.Duration { return max(now.Sub(p.began), 0) }

// What this run must have done itself before it estimates the rest: so much
// time, and one part in so many of its work. No estimate is longer than that
// many times what is behind the run.
const (
	leastTime  = 5 * time.Second
	leastShare = 100
)

// remaining estimates the rest from the rate of this run's own counts, or not at
// all. Between two counts the estimate runs down with the clock; when it has run
// out without another count, nothing is known any more.
func (p *phase) remaining(now time.Time) (time.Duration, bool) {
	took, own := p.at.Sub(p.from), p.done-p.first
	if own == 0 || p.done == p.total || took < leastTime || own <= (p.total-p.first-1)/leastShare {
		return 0, false
	}
	rest := took.Seconds() / float64(own) * float64(p.total-p.done)
	left := time.Duration(rest*float64(time.Second)) - max(now.Sub(p.at), 0)
	return left, left > 0
}

// measure is the counts and the share that they are, if there are any.
func (p *phase) measure() string {
	switch {
	case !p.counted:
		return ""
	case p.total == 0:
		return ": " + p.counts()
	}
	return ": " + p.counts() + " (" + p.percent() + ")"
}

// counts renders done of total.
func (p *phase) counts() string {
	if p.unit == "bytes" {
		return humanize.IBytes(p.done) + " of " + humanize.IBytes(p.total)
	}
	return Count(p.done) + " of " + Count(p.total) + " " + p.unit
}

// percent is rounded down, so that 100.0 % is all. It is exact, since rounding
// would make 100.0 % of what is almost all of a large total.
func (p *phase) percent() string {
	const tenths = 1000
	hi, lo := bits.Mul64(p.done, tenths)
	share, _ := bits.Div64(hi, lo, max(p.total, 1))
	return fmt.Sprintf("%d.%d%%", share/10, share%10)
}

// line says where a phase is that goes on.
func (p *phase) line(now time.Time) string {
	gone := seconds(p.elapsed(now)) + " so far"
	if !p.counted {
		return p.name + ": " + gone
	}
	if left, ok := p.remaining(now); ok {
		gone += ", about " + seconds(left) + " to go"
	}
	return p.name + p.measure() + ", " + gone
}

// lastLine is what stays of the phase.
func (p *phase) lastLine(now time.Time) string {
	return p.name + p.measure() + " in " + p.elapsed(now).Round(time.Millisecond).String()
}

// seconds renders a duration without fractions.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }
