package format

import (
	"fmt"
	"strconv"
	"strings"
)

// Phase is what a compaction-state says is going on.
type Phase string

// The two phases. Reload is of profiles whose metadata is a database.
const (
	Move   Phase = "move"
	Reload Phase = "reload"
)

// MaxStateLen is the length of the longest state, in bytes: a reader needs to
// read no more than one byte beyond it.
const MaxStateLen = len("reload ") + 20 + 1

// State is the durable progress of a compaction: plan rows before Cursor are
// done in this phase.
type State struct {
	Phase  Phase
	Cursor RowIndex
}

// AppendTo appends the text of the state to dst.
func (s State) AppendTo(dst []byte) []byte {
	return fmt.Appendf(dst, "%s %d\n", s.Phase, s.Cursor)
}

// DecodeState reads a whole state file. Only the canonical spelling is one.
func DecodeState(src []byte) (State, error) {
	if len(src) > MaxStateLen {
		return State{}, fmt.Errorf("state has %d bytes, want at most %d", len(src), MaxStateLen)
	}
	phase, cursor, _ := strings.Cut(strings.TrimSuffix(string(src), "\n"), " ")
	n, err := strconv.ParseUint(cursor, 10, 64)
	s := State{Phase: Phase(phase), Cursor: RowIndex(n)}
	if err != nil || s.Validate() != nil || string(s.AppendTo(nil)) != string(src) {
		return State{}, fmt.Errorf("state %q is not of the form \"move <cursor>\\n\" or \"reload <cursor>\\n\"", src)
	}
	return s, nil
}

// Validate checks the phase.
func (s State) Validate() error {
	if s.Phase != Move && s.Phase != Reload {
		return fmt.Errorf("unknown phase %q", s.Phase)
	}
	return nil
}
