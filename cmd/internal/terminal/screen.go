// Package terminal is a terminal for tests: a screen of a width, with a cursor,
// that knows line breaks, the carriage return and how to erase to the end of the
// line. Any other control is an error, since lace must not depend on what a
// terminal can do besides.
package terminal

import (
	"fmt"
	"strings"
	"unicode"
)

// Screen is what a terminal shows. Make one with New.
type Screen struct {
	width int
	rows  []row
	x     int    // the column of the cursor, in the last row
	begun string // of an escape sequence
	err   error
}

// row is one row. A broken one goes on in the next, because it was too long.
type row struct {
	cells  []rune
	broken bool
}

// New returns an empty screen of so many columns.
func New(width int) *Screen { return &Screen{width: width, rows: make([]row, 1)} }

// Resize changes the width. What is shown is cut, as xterm does it.
func (s *Screen) Resize(width int) {
	s.width = width
	for i, r := range s.rows {
		s.rows[i].cells = r.cells[:min(len(r.cells), width)]
	}
	s.x = min(s.x, width)
}

// Write shows text. It never fails: Err tells of controls.
func (s *Screen) Write(text []byte) (int, error) {
	for _, r := range string(text) {
		s.put(r)
	}
	return len(text), nil
}

func (s *Screen) put(r rune) {
	switch {
	case s.begun != "" || r == '\x1b':
		s.escape(r)
		return
	case r == '\r':
		s.x = 0
		return
	case r == '\n':
		s.rows = append(s.rows, row{})
		return
	case !unicode.IsPrint(r):
		if s.err == nil {
			s.err = fmt.Errorf("the control character %U", r)
		}
		return
	case s.x == s.width:
		s.rows[len(s.rows)-1].broken = true
		s.rows, s.x = append(s.rows, row{}), 0
	}
	last := &s.rows[len(s.rows)-1]
	for len(last.cells) <= s.x {
		last.cells = append(last.cells, ' ')
	}
	last.cells[s.x] = r
	s.x++
}

// eraseLine erases from the cursor on.
const eraseLine = "\x1b[K"

func (s *Screen) escape(r rune) {
	s.begun += string(r)
	switch {
	case s.begun == eraseLine:
		last := &s.rows[len(s.rows)-1]
		last.cells = last.cells[:min(len(last.cells), s.x)]
	case strings.HasPrefix(eraseLine, s.begun):
		return
	case s.err == nil:
		s.err = fmt.Errorf("the control sequence %q", s.begun)
	}
	s.begun = ""
}

// Err tells of the first control that the screen does not know, if one was
// written.
func (s *Screen) Err() error { return s.err }

// AtLineStart says whether the cursor is where a shell wants to print: at the
// start of an empty row.
func (s *Screen) AtLineStart() bool { return s.x == 0 && s.Row() == "" }

// Row is what the row of the cursor shows, without blanks at its end.
func (s *Screen) Row() string {
	return strings.TrimRight(string(s.rows[len(s.rows)-1].cells), " ")
}

// Rows is how many rows were reached, that of the cursor included.
func (s *Screen) Rows() int { return len(s.rows) }

// Lines are the lines that are shown, without blanks at their ends; one that
// was broken because it is too long is whole. Empty ones at the end are none.
func (s *Screen) Lines() []string {
	var lines []string
	var whole strings.Builder
	for _, r := range s.rows {
		whole.WriteString(string(r.cells))
		if !r.broken {
			lines = append(lines, strings.TrimRight(whole.String(), " "))
			whole.Reset()
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
