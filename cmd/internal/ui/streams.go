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

// Terminal reports whether w is a terminal that understands cursor control,
// and its width in columns. A dumb terminal, a pipe and a file do not.
func Terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if t := os.Getenv("TERM"); t == "dumb" || t == "" {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80, true
	}
	return width, true
}
