// Package ui is how lace talks to people and scripts: streams, progress,
// sizes, quoting and JSON. It is the only user of the progress bar. It does
// not know what any command does.
package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

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

// WriteJSON writes exactly one indented JSON document and a line break. What
// would reach a terminal as control or as an invisible character is escaped.
func WriteJSON(w io.Writer, document any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := w.Write(escapeHidden(b.Bytes()))
	return err
}

// escapeHidden escapes the unprintable characters of JSON text. Outside of its
// strings there are none but line breaks.
func escapeHidden(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
