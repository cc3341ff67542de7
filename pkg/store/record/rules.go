package record

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// checkHeader applies the rules of one header line. Nothing is trimmed or
// normalised: text that breaks a rule is refused.
func checkHeader(name, value []byte) error {
	if n := len(name) + len(": ") + len(value); n > MaxLineLen {
		return fmt.Errorf("header line has %d bytes, at most %d are allowed", n, MaxLineLen)
	}
	if len(name) == 0 || bytes.ContainsAny(name, ": \t") {
		return fmt.Errorf("header name %.80q is empty or has a colon, space or tab", name)
	}
	if len(value) == 0 {
		return fmt.Errorf("header %.80q has no value", name)
	}
	if value[0] == ' ' {
		return fmt.Errorf("header %.80q has more than one space after the colon", name)
	}
	if err := checkText(name); err != nil {
		return fmt.Errorf("header name %.80q %w", name, err)
	}
	if err := checkText(value); err != nil {
		return fmt.Errorf("value of header %.80q %w", name, err)
	}
	return nil
}

// checkText applies the rules of names and values alike.
func checkText(text []byte) error {
	ascii := true
	for _, c := range text {
		if c < 0x20 || c == 0x7F {
			return fmt.Errorf("has the control byte %#02x", c)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii {
		return nil
	}
	if !utf8.Valid(text) {
		return errors.New("is not UTF-8")
	}
	if !norm.NFC.IsNormal(text) {
		return errors.New("is not in Unicode normalization form C")
	}
	return nil
}

// checkTAI accepts 10 digits of seconds, a colon, 9 digits of nanoseconds.
func checkTAI(value []byte) error {
	ok := len(value) == TAILen && value[10] == ':'
	for i := 0; ok && i < TAILen; i++ {
		ok = i == 10 || '0' <= value[i] && value[i] <= '9'
	}
	if !ok {
		return fmt.Errorf("TAI %.80q is not of the form <10 digits>:<9 digits>", value)
	}
	return nil
}

// headerOrder checks a Plex's header lines one after the other: the four
// coordinates first, then the extra headers by name; and their limits.
type headerOrder struct {
	line        int
	last        []byte // name of the extra header before
	coordinates int    // length of the coordinate lines in bytes
	extra       int    // length of the extra header lines in bytes
}

func (o *headerOrder) next(name, value []byte) error {
	if err := checkHeader(name, value); err != nil {
		return err
	}
	n := len(name) + len(": ") + len(value) + len("\n")
	if o.line < len(coordinateNames) {
		return o.coordinate(name, value, n)
	}
	if Reserved(name) {
		return fmt.Errorf("header name %q is reserved", name)
	}
	if bytes.Compare(o.last, name) > 0 {
		return fmt.Errorf("header %.80q must not follow %.80q: extra headers are sorted by name", name, o.last)
	}
	o.last = name
	if o.extra += n; o.extra > MaxExtraLen {
		return fmt.Errorf("extra headers exceed %d bytes", MaxExtraLen)
	}
	return nil
}

func (o *headerOrder) coordinate(name, value []byte, n int) error {
	want := coordinateNames[o.line]
	o.line++
	if string(name) != want {
		return fmt.Errorf("header %.80q where %s belongs", name, want)
	}
	if o.coordinates += n; o.coordinates > MaxCoordinatesLen {
		return fmt.Errorf("coordinates exceed %d bytes", MaxCoordinatesLen)
	}
	if want == "TAI" {
		return checkTAI(value)
	}
	return nil
}

// done reports what is missing after the last line.
func (o *headerOrder) done() error {
	if o.line < len(coordinateNames) {
		return fmt.Errorf("header %s is missing", coordinateNames[o.line])
	}
	return nil
}
