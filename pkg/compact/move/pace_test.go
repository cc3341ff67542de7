package move

import (
	"context"
	"testing"
	"time"
)

// The real clock's wait ends when its context does, not when its time is up.
func TestSleepEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, stop)
	begin := time.Now()
	sleep(ctx, time.Hour)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("slept %v", took)
	}
}

// Idle time is made up for, but not more than a second of it: no burst follows
// a long pause.
func TestPaceCreditIsBounded(t *testing.T) {
	at := time.Unix(0, 0)
	waited := time.Duration(0)
	p := NewPace(t.Context(), 100, func() time.Time { return at }, func(_ context.Context, d time.Duration) {
		waited += d
		at = at.Add(d)
	})
	at = at.Add(time.Hour)
	p.take(300)
	if want := 2 * time.Second; waited != want {
		t.Errorf("waited %v for three seconds of bytes behind a pause, want %v", waited, want)
	}
}

func TestNoPace(t *testing.T) {
	p := NewPace(t.Context(), 0, nil, nil)
	p.take(1 << 30)
	if p != nil {
		t.Error("no limit needs no pace")
	}
}
