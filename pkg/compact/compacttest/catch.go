package compacttest

import (
	"errors"
	"fmt"
	"strings"
)

// Catch runs the matrix until it catches a mutant, and returns the kinds of
// event that showed it with what was found; no error is a mutant that lived
// through about that many states.
func Catch(subject Subject, m Mutant, states int) (kinds string, found error) {
	opts := Options{States: states, Random: 4, Stride: 5, First: m.First, Wrap: m.Wrap, OnlyLosses: true}
	if m.Deep {
		opts.Stride, opts.EverySecond = 0, true
	}
	tally, err := Run(subject, opts)
	var failure *Failure
	if !errors.As(err, &failure) {
		return tally.String(), err
	}
	if len(failure.State.Events) == 0 {
		return "nothing", fmt.Errorf("the mutant fails without any event, which proves nothing: %w", err)
	}
	var names []string
	for _, e := range failure.State.Events {
		names = append(names, e.Kind.text())
	}
	return "matrix: " + strings.Join(names, ", "), err
}

// text is a kind in words.
func (k Kind) text() string {
	switch k {
	case Power:
		return "power cut"
	case Lose:
		return "lost write-back"
	case Sync:
		return "failed sync"
	case SyncPower:
		return "failed sync with power cut"
	}
	return string(k)
}
