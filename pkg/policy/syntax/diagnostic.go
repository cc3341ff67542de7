package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Code names a kind of diagnostic. docs/diagnostics.md explains each with an
// example.
type Code string

// Codes of the diagnostics of this package.
const (
	CodeSyntax   Code = "syntax"
	CodeEncoding Code = "encoding"
	CodeLimit    Code = "limit"
)

// MaxDiagnostics bounds the diagnostics of one file. A file with more is not a
// policy with mistakes, and nobody reads so many.
const MaxDiagnostics = 1000

// Diagnostic is one thing that is wrong, or doubtful, in a policy file.
type Diagnostic struct {
	Code     Code
	Position Position
	Text     string // the offending text, as it is; empty when Why says it
	Why      string // holds text of the file only in the form of Quote
	Mend     string // how to mend it; the same
}

// Error renders file:line:column: why, the offending text, how to mend it and
// the code, on one line without control characters.
func (d Diagnostic) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", d.Position, d.Why)
	if d.Text != "" {
		fmt.Fprintf(&b, ": %s", Quote(d.Text))
	}
	if d.Mend != "" {
		fmt.Fprintf(&b, "; %s", d.Mend)
	}
	fmt.Fprintf(&b, " [%s]", d.Code)
	return b.String()
}

// maxQuoted bounds the text of a file that one message shows, in bytes.
const maxQuoted = 160

// Quote makes text of a file fit to be shown: at most a line of it, and in
// double quotes with escapes if it has control characters, invisible ones or
// bytes that are not UTF-8. Plain text stays as it is.
func Quote(text string) string {
	text = clip(text)
	if strings.ContainsFunc(text, isHidden) || !utf8.ValidString(text) {
		return strconv.Quote(text)
	}
	return text
}

func isHidden(r rune) bool { return !strconv.IsPrint(r) }

// clip cuts a long text between two runes.
func clip(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// List is the diagnostics of a run, of all its files. As an error it is what
// preparation returns.
type List []Diagnostic

// Error renders all diagnostics on one line. Whoever has room prints the
// elements on a line each.
func (l List) Error() string {
	if len(l) == 0 {
		return "no diagnostics"
	}
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "; and ")
}

// Sort orders the diagnostics of one file by line and column.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b Diagnostic) int { return a.Position.Compare(b.Position) })
}

// Limited returns the first MaxDiagnostics of one file's sorted list. If there
// were more, the last one says so.
func (l List) Limited() List {
	if len(l) <= MaxDiagnostics {
		return l
	}
	at := l[MaxDiagnostics].Position
	return append(slices.Clip(l[:MaxDiagnostics]), Diagnostic{
		Code: CodeLimit, Position: at, Why: fmt.Sprintf("more than %d problems", MaxDiagnostics),
		Mend: "mend those above; the rest is not shown",
	})
}

// Err returns the list as an error, or nil when it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}
