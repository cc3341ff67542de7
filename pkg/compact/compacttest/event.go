package compacttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// Kind is what happens to a run.
type Kind string

// The kinds of event.
const (
	// Power is cut during a call; Survivors choose what is left.
	Power Kind = "power"
	// Kill ends the process during a call; the cache lives on.
	Kill Kind = "kill"
	// Lose kills, and then write-back fails for a choice of what was not
	// durable; an odd seed lets the next sync report it.
	Lose Kind = "lose"
	// Sync fails the first sync at or after a call, and the cache lies. The
	// machine stays up, unless the power is cut after it.
	Sync Kind = "sync"
	// SyncPower is Sync, and then the power is cut.
	SyncPower Kind = "syncpower"
)

// Event happens to one run, at call At.
type Event struct {
	Kind      Kind
	At        int
	Survivors crashfs.Survivors // of Power and SyncPower
	Lie       crashfs.Lie       // of Sync and SyncPower
	Seed      uint64            // of Lose, Sync and SyncPower
}

// String is the text that ParseState reads.
func (e Event) String() string {
	text := fmt.Sprintf("%s@%d", e.Kind, e.At)
	switch e.Kind {
	case Power:
		text += "/" + e.Survivors.String()
	case Lose:
		text += fmt.Sprintf("/seed:%d", e.Seed)
	case Sync:
		text += fmt.Sprintf("/lie:%d/seed:%d", e.Lie, e.Seed)
	case SyncPower:
		text += fmt.Sprintf("/lie:%d/seed:%d/%s", e.Lie, e.Seed, e.Survivors)
	}
	return text
}

// State is a shape and what happens to it, one event a run.
type State struct {
	Shape  uint64
	Events []Event
}

// String is the text that ParseState reads.
func (s State) String() string {
	text := strconv.FormatUint(s.Shape, 10)
	for _, e := range s.Events {
		text += " " + e.String()
	}
	return text
}

// ParseState reads what String wrote.
func ParseState(text string) (State, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return State{}, fmt.Errorf("state %q: want a shape and events", text)
	}
	shape, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil {
		return State{}, fmt.Errorf("state %q: %w", text, err)
	}
	s := State{Shape: shape}
	for _, field := range fields[1:] {
		e, err := parseEvent(field)
		if err != nil {
			return State{}, fmt.Errorf("state %q: event %q: %w", text, field, err)
		}
		s.Events = append(s.Events, e)
	}
	return s, nil
}

func parseEvent(text string) (Event, error) {
	parts := strings.Split(text, "/")
	kind, at, _ := strings.Cut(parts[0], "@")
	e := Event{Kind: Kind(kind)}
	var err error
	if e.At, err = strconv.Atoi(at); err != nil {
		return e, err
	}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, ":")
		switch name {
		case "lie":
			var lie uint64
			lie, err = strconv.ParseUint(value, 10, 8)
			e.Lie = crashfs.Lie(lie)
		case "seed":
			e.Seed, err = strconv.ParseUint(value, 10, 64)
		default:
			e.Survivors, err = crashfs.ParseSurvivors(part)
		}
		if err != nil {
			return e, err
		}
	}
	if e.String() != text {
		return e, fmt.Errorf("means %q", e)
	}
	return e, nil
}
