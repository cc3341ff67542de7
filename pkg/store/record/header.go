package record

import (
	"bytes"
	"errors"
	"iter"
)

// Headers are complete header lines inside a parsed record. The zero Headers
// has none.
type Headers struct{ lines []byte }

// Len returns the length of the lines in bytes, with their LFs.
func (h Headers) Len() int { return len(h.lines) }

// Next takes the first line away and returns its parts; ok is false when there
// is none. It allocates nothing; the parts are views into the record.
func (h *Headers) Next() (name, value []byte, ok bool) {
	if len(h.lines) == 0 {
		return nil, nil, false
	}
	name, value, n, err := cutLine(h.lines)
	if err != nil {
		// Parse has cut every line before.
		panic("record: header lines that were never parsed: " + err.Error())
	}
	h.lines = h.lines[n:]
	return name, value, true
}

// All yields the name and the value of each line in order.
func (h Headers) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for {
			name, value, ok := h.Next()
			if !ok || !yield(name, value) {
				return
			}
		}
	}
}

// Before returns the lines of h in front of rest, which Next has left of h.
func (h Headers) Before(rest Headers) Headers {
	return Headers{h.lines[:len(h.lines)-len(rest.lines)]}
}

var errNoHeader = errors.New("not a header line of the form Name: value")

// cutLine reads the header line that b begins with, leniently: a name up to
// the first colon, a space, a value, LF. n is the length with the LF.
func cutLine(b []byte) (name, value []byte, n int, err error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, nil, 0, errTruncated
	}
	colon := bytes.IndexByte(b[:end], ':')
	if colon < 1 || b[colon+1] != ' ' {
		return nil, nil, 0, errNoHeader
	}
	return b[:colon:colon], b[colon+2 : end : end], end + 1, nil
}
