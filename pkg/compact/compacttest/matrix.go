package compacttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// Variables of the environment.
const (
	// StateVariable has one state to try alone.
	StateVariable = "LACE_CRASH_STATE"
	// StatesVariable is how many states a matrix tries, instead of its own
	// number. All calls of a shape are struck then, with more survivors each.
	StatesVariable = "LACE_CRASH_STATES"
	// FirstVariable is the seed of the first shape, so that a long run goes on
	// where another ended.
	FirstVariable = "LACE_CRASH_FIRST"
)

// Options say how much a matrix tries.
type Options struct {
	// States is about how many states are tried, unless the environment says.
	States int
	// First is the seed of the first shape.
	First uint64
	// Stride is how many calls of a shape are passed over between two that are
	// struck, so that fewer states see more shapes; 0 strikes every call.
	Stride int
	// Random is how many random survivors are tried at each power cut, besides
	// nothing, everything, each thing lost alone and each kept alone.
	Random int
	// EverySecond cuts the power at every call of the resume after a kill, not
	// only at a sample of them.
	EverySecond bool
	// Wrap, unless nil, is put around the file system that the subject sees.
	Wrap func(vfs.FS) vfs.FS
	// OnlyLosses passes over runs that end well although a sync failed, so that
	// a mutant which ignores that is caught by what it loses.
	OnlyLosses bool
}

// Failure is a state in which something is wrong.
type Failure struct {
	State State
	Err   error
}

// Error names what is wrong and the state that replays it.
func (f *Failure) Error() string {
	return fmt.Sprintf("%v\n%s='%s'", f.Err, StateVariable, f.State)
}

// Unwrap returns what is wrong.
func (f *Failure) Unwrap() error { return f.Err }

// longRandom is how many random survivors the long form tries at each power cut.
const longRandom = 16

// matrix tries states until it has tried enough.
type matrix struct {
	subject Subject
	opts    Options
	tally   Tally
	random  *rand.Rand // of the shape, so that each can be tried alone
}

// Run tries every call of one shape after the other until the number of states
// is reached, and returns the first failure: a *Failure, unless a shape cannot
// even be built. Besides the first event of every call, it tries second and third
// events during the resume for a sample.
func Run(subject Subject, opts Options) (Tally, error) {
	m := &matrix{subject: subject, opts: opts, tally: Tally{Next: opts.First}}
	for !m.enough() {
		m.random = rand.New(rand.NewPCG(1, m.tally.Next))
		if err := m.shape(NewShape(m.tally.Next)); err != nil {
			return m.tally, err
		}
		m.tally.Next++
		m.tally.Shapes++
	}
	return m.tally, nil
}

func (m *matrix) enough() bool { return m.tally.States >= m.opts.States }

// Matrix is Run as a test. With StateVariable set it tries that state alone.
func Matrix(t *testing.T, subject Subject, opts Options) {
	t.Helper()
	if text := os.Getenv(StateVariable); text != "" {
		if err := Replay(subject, text, opts.Wrap); err != nil {
			t.Fatal(err)
		}
		return
	}
	if long := int(number(t, StatesVariable, 0)); long > 0 {
		// The long form strikes every call.
		opts.States, opts.Stride, opts.Random = long, 0, max(opts.Random, longRandom)
	}
	opts.First = number(t, FirstVariable, opts.First)
	tally, err := Run(subject, opts)
	if err != nil {
		t.Fatalf("%v\nafter %s; replay with go test -run '^%s$' and", err, tally, t.Name())
	}
	t.Log(tally)
}

// number is a variable of the environment, or what is usual without it.
func number(t *testing.T, name string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Replay tries one state.
func Replay(subject Subject, text string, wrap func(vfs.FS) vfs.FS) error {
	state, err := ParseState(text)
	if err != nil {
		return err
	}
	h, err := Begin(subject, NewShape(state.Shape), wrap)
	if err != nil {
		return err
	}
	for _, e := range state.Events {
		hit, err := h.Strike(e)
		if err != nil || !hit {
			return failed(h, err)
		}
		if err := h.Settle(); err != nil {
			return failed(h, err)
		}
	}
	return failed(h, h.Finish())
}

func failed(h History, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{h.State(), err}
}

// shape strikes at every call of the first run.
func (m *matrix) shape(s *Shape) error {
	h, err := Begin(m.subject, s, m.opts.Wrap)
	if err != nil {
		return err
	}
	h.onlyLosses = m.opts.OnlyLosses
	calls, err := h.Calls()
	if err != nil {
		return failed(h, err)
	}
	stride := m.opts.Stride + 1
	for at := 1 + int(s.Seed)%stride; at <= calls && !m.enough(); at += stride {
		if err := m.strikes(h, at); err != nil {
			return err
		}
	}
	return nil
}

// strikes tries every kind of event at one call.
func (m *matrix) strikes(h History, at int) error {
	if err := m.power(h, at); err != nil {
		return err
	}
	seed := m.random.Uint64() >> 40
	events := []Event{
		{Kind: Kill, At: at},
		{Kind: Lose, At: at, Seed: seed},
		{Kind: Sync, At: at, Lie: crashfs.CleanAndNew, Seed: seed},
		{Kind: Sync, At: at, Lie: crashfs.CleanAndOld, Seed: seed + 1},
		{Kind: SyncPower, At: at, Lie: crashfs.CleanAndNew, Seed: seed, Survivors: crashfs.Random(seed)},
		{Kind: SyncPower, At: at, Lie: crashfs.ShutDown, Seed: seed, Survivors: crashfs.Random(seed)},
	}
	for _, e := range events {
		if err := m.follow(h, e); err != nil {
			return err
		}
	}
	if m.opts.EverySecond {
		return m.second(h, at)
	}
	return nil
}

// second kills at one call, and cuts the power at every call of the resume.
func (m *matrix) second(h History, at int) error {
	if hit, err := h.Strike(Event{Kind: Kill, At: at}); err != nil || !hit {
		return failed(h, err)
	}
	if err := h.Settle(); err != nil {
		return failed(h, err)
	}
	calls, err := h.Calls()
	if err != nil {
		return failed(h, err)
	}
	for second := 1; second <= calls && !m.enough(); second++ {
		if err := m.power(h, second); err != nil {
			return err
		}
	}
	return nil
}

// power cuts the power at one call, and tries the survivors.
func (m *matrix) power(h History, at int) error {
	hit, err := h.Strike(Event{Kind: Power, At: at})
	if err != nil || !hit {
		return failed(h, err)
	}
	for _, s := range h.fs.Survivors(m.opts.Random, m.random.Uint64()>>40) {
		if err := m.settled(h.survivors(s)); err != nil {
			return err
		}
	}
	return nil
}

// follow lets an event happen and the root recover.
func (m *matrix) follow(h History, e Event) error {
	hit, err := h.Strike(e)
	if err != nil {
		return failed(h, err)
	}
	if !hit {
		return failed(h, h.checkFinished())
	}
	return m.settled(h)
}

// settled checks what an event left, and that a resume finishes it; for a
// sample, that it does so after further events too.
func (m *matrix) settled(h History) error {
	m.tally.add(h.state.Events)
	if err := h.Settle(); err != nil {
		return failed(h, err)
	}
	finish := h
	if err := finish.Finish(); err != nil {
		return failed(h, err)
	}
	if len(h.state.Events) == maxEvents || m.random.IntN(4) > 0 {
		return nil
	}
	calls := finish.fs.Calls()
	if calls == 0 {
		return nil
	}
	return m.follow(h, m.draw(1+m.random.IntN(calls)))
}

// maxEvents is how many events happen to one root at most.
const maxEvents = 3

// draw draws any event at one call.
func (m *matrix) draw(at int) Event {
	e := Event{At: at, Seed: m.random.Uint64() >> 40, Survivors: crashfs.Random(m.random.Uint64() >> 40)}
	switch m.random.IntN(6) {
	case 0, 1:
		e.Kind = Power
		if m.random.IntN(4) == 0 {
			e.Survivors = crashfs.All()
		}
	case 2:
		e.Kind = Kill
	case 3:
		e.Kind = Lose
	case 4:
		e.Kind, e.Lie = Sync, crashfs.CleanAndNew
		if m.random.IntN(2) == 0 {
			e.Lie = crashfs.CleanAndOld
		}
	case 5:
		e.Kind, e.Lie = SyncPower, crashfs.Lie(1+m.random.IntN(3))
	}
	return e
}
