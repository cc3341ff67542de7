package compacttest

import (
	"errors"
	"fmt"
	"os"
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
	tried, err := Run(subject, opts)
	var failure *Failure
	if !errors.As(err, &failure) {
		return fmt.Sprintf("%d states tried", tried), err
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

// CheckTable compares the rows of the named table of a document with want, or
// rewrites them. In the document the table is between the lines
// "<!-- mutants: NAME -->" and "<!-- end -->", below two lines of header.
func CheckTable(path, name, want string, update bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := fmt.Sprintf("<!-- mutants: %s -->\n", name)
	before, rest, ok := strings.Cut(string(b), begin)
	table, after, closed := strings.Cut(rest, "<!-- end -->\n")
	lines := strings.SplitAfterN(table, "\n", 3)
	if !ok || !closed || len(lines) != 3 {
		return fmt.Errorf("%s has no table of mutants %q", path, name)
	}
	if lines[2] == want {
		return nil
	}
	if update {
		return os.WriteFile(path, []byte(before+begin+lines[0]+lines[1]+want+"<!-- end -->\n"+after), 0o644)
	}
	return fmt.Errorf("the table of mutants %q in %s differs (-update rewrites it); want\n%s", name, path, want)
}
