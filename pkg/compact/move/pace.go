package move

import (
	"context"
	"io"
	"time"
)

// paceCredit is how much idle time, such as that of syncs, may be made up for.
const paceCredit = time.Second

// Pace holds the bytes that a Mover reads and writes to a number per second.
// Once a stop is requested it holds nothing back any more, so that the batch
// at hand, which has to end, ends soon. A nil Pace holds nothing back.
type Pace struct {
	rate uint64
	stop context.Context
	now  func() time.Time
	wait func(context.Context, time.Duration)
	due  time.Time // when everything taken so far is used up
}

// NewPace returns a Pace of rate bytes a second until ctx is done. The clock is
// made of now and wait, which returns early when its context is done; nil
// stands for the real one.
func NewPace(ctx context.Context, rate uint64, now func() time.Time, wait func(context.Context, time.Duration)) *Pace {
	if rate == 0 {
		return nil
	}
	if now == nil {
		now = time.Now
	}
	if wait == nil {
		wait = sleep
	}
	return &Pace{rate: rate, stop: ctx, now: now, wait: wait, due: now()}
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// take accounts for n bytes that were read or written, and waits until they
// are due.
func (p *Pace) take(n int) {
	if p == nil || p.stop.Err() != nil {
		return
	}
	now := p.now()
	if oldest := now.Add(-paceCredit); p.due.Before(oldest) {
		p.due = oldest
	}
	p.due = p.due.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	if early := p.due.Sub(now); early > 0 {
		p.wait(p.stop, early)
	}
}

// reader returns r with its reads accounted for.
func (p *Pace) reader(r io.ReaderAt) io.ReaderAt {
	if p == nil {
		return r
	}
	return pacedReader{p, r}
}

type pacedReader struct {
	pace *Pace
	r    io.ReaderAt
}

func (r pacedReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.r.ReadAt(b, off)
	r.pace.take(n)
	return n, err
}

// writer returns w with its writes accounted for.
func (p *Pace) writer(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return pacedWriter{p, w}
}

type pacedWriter struct {
	pace *Pace
	w    io.Writer
}

func (w pacedWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.pace.take(n)
	return n, err
}
