package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Streamed is a JSON document with one list too long for memory. It is written
// as the last field, a line for each item.
type Streamed interface {
	// Stream returns the list and the name of its field; items nil is no list.
	Stream() (field string, items iter.Seq[any])
}

// WriteJSON writes exactly one indented JSON document and a line break. What
// would reach a terminal as control or as an invisible character is escaped.
// A document that is Streamed is written in pieces.
func WriteJSON(w io.Writer, document any) error {
	text, err := encodeJSON(document, "  ")
	if err != nil {
		return err
	}
	if s, ok := document.(Streamed); ok {
		if field, items := s.Stream(); items != nil {
			return writeStreamed(w, text, field, items)
		}
	}
	_, err = w.Write(text)
	return err
}

// objectEnd is how an indented JSON object of at least one field ends.
const objectEnd = "\n}\n"

// writeStreamed writes an encoded object with one field more.
func writeStreamed(w io.Writer, object []byte, field string, items iter.Seq[any]) error {
	head, ok := bytes.CutSuffix(object, []byte(objectEnd))
	if !ok {
		return fmt.Errorf("a document without fields cannot have the list %q", field)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s,\n  %q: [", head, field)
	separator := "\n    "
	for item := range items {
		text, err := encodeJSON(item, "")
		if err != nil {
			return err
		}
		// An error stays with the writer, which Flush asks; no item after it
		// is encoded in vain.
		if _, err := fmt.Fprintf(out, "%s%s", separator, bytes.TrimSuffix(text, []byte("\n"))); err != nil {
			return err
		}
		separator = ",\n    "
	}
	fmt.Fprintf(out, "\n  ]%s", objectEnd)
	return out.Flush()
}

// encodeJSON encodes one value and a line break.
func encodeJSON(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return escapeHidden(b.Bytes()), nil
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
