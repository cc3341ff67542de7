// Package ui is how lace talks to people and scripts: streams, progress,
// sizes, quoting and JSON. It is the only user of the progress bar. It does
// not know what any command does.
package ui

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are the three standard streams of one run. Results go to Out;
// progress, log and errors go to Err.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// IsTerminal reports whether w is a terminal of any kind.
func IsTerminal(w io.Writer) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// Terminal reports whether w is a terminal on which a line can be written over.
// A dumb terminal, a pipe and a file are none.
func Terminal(w io.Writer) bool {
	t := os.Getenv("TERM")
	return IsTerminal(w) && t != "dumb" && t != ""
}

// Columns is the width of a terminal of any kind, or 0 when w is none or does
// not tell.
func Columns(w io.Writer) int {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
