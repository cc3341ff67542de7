package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Code names a kind of diagnostic. docs/policies.md explains each with an
// example.
type Code string

// Diagnostic is one thing that is wrong, or doubtful, in a policy file.
type Diagnostic struct {
	Code     Code
	Position Position
	Text     string // the offending text; empty when the position says it all
	Why      string
	Mend     string // how to mend it
}

// Error renders file:line:column: why, the offending text, how to mend it and
// the code, on one line without control characters.
func (d Diagnostic) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", d.Position, d.Why)
	if d.Text != "" {
		fmt.Fprintf(&b, ": %s", quote(d.Text))
	}
	if d.Mend != "" {
		fmt.Fprintf(&b, "; %s", d.Mend)
	}
	fmt.Fprintf(&b, " [%s]", d.Code)
	return b.String()
}

// maxQuoted bounds the offending text that is printed, in bytes.
const maxQuoted = 80

func quote(text string) string {
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "..."
	}
	q := strconv.Quote(text)
	if inner := q[1 : len(q)-1]; inner == text {
		return text
	}
	return q
}

// List is the diagnostics of a run, of all its files.
type List []Diagnostic

// Error renders all diagnostics on one line.
func (l List) Error() string {
	switch len(l) {
	case 0:
		return "no diagnostics"
	case 1:
		return l[0].Error()
	}
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "; and ")
}

// Sort orders the diagnostics of one file by line and column.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		if a.Position.Line != b.Position.Line {
			return a.Position.Line - b.Position.Line
		}
		return a.Position.Column - b.Position.Column
	})
}

// Err returns the list as an error, or nil when it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}
