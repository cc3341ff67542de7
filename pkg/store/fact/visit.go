package fact

import (
	"bytes"

	"github.com/lace-store/lace/pkg/store/record"
)

// The names of the synthetic fields. No header can have them, since a header
// name has no colon.
const (
	TypeField   = ":Type"
	LengthField = ":Length"
)

// names are the field names that do not stand in the record, as the bytes that
// a Visitor takes. They are never written to.
var names = struct{ typ, length, verifier []byte }{
	[]byte(TypeField), []byte(LengthField), []byte(verifierField),
}

// Visit projects complete record bytes to their facts, in the order that
// Visitor documents, until a method returns false. It reads leniently, as
// record.Parse does, copies nothing and, for a record whose headers are in
// canonical order, allocates nothing. The error is a *record.FormatError, and
// then v has seen nothing.
func Visit(rec []byte, v Visitor) error {
	view, err := record.Parse(rec)
	if err != nil {
		return err
	}
	if v.Field(names.typ, 0, view.HashText()[:1]) &&
		v.Field(names.length, 0, view.DataLenText()) &&
		visitHeaders(view, v) {
		visitContained(view, v)
	}
	return nil
}

func visitHeaders(view record.View, v Visitor) bool {
	verifier, _, sealed := view.SealTexts()
	if sealed && !v.Field(names.verifier, 0, verifier) {
		return false
	}
	headers := view.PlexHeaders()
	count := ordinals{sealed: sealed}
	for rest := headers; ; {
		before := headers.Before(rest)
		name, value, ok := rest.Next()
		if !ok {
			return true
		}
		index := count.next(name, before)
		if !v.Field(name, index, value) {
			return false
		}
		if record.Reserved(name) {
			continue
		}
		if data, target, ok := splitLink(value); ok && !v.Link(name, index, data, target) {
			return false
		}
	}
}

func visitContained(view record.View, v Visitor) {
	if plex, ok := view.Plex(); ok && !v.Contains(plex.HashText()) {
		return
	}
	if blob, ok := view.Blob(); ok {
		v.Contains(blob.HashText())
	}
}

// ordinals numbers the fields of each name. While the headers are in canonical
// order (coordinates, then extra headers by name) equal names are neighbours
// and one counter is enough; else it counts in a map, so that no input makes
// the projection quadratic.
type ordinals struct {
	sealed bool
	line   int
	last   []byte
	n      int
	seen   map[string]int
}

// next returns the index of the next field; before are the headers in front.
func (o *ordinals) next(name []byte, before record.Headers) int {
	if o.seen == nil && o.inOrder(name) {
		return o.n
	}
	if o.seen == nil {
		o.recount(before)
	}
	n := o.seen[string(name)]
	o.seen[string(name)] = n + 1
	return n
}

// inOrder reports whether name may stand here in canonical order, and sets n
// to its index if so.
func (o *ordinals) inOrder(name []byte) bool {
	line := o.line
	o.line++
	if line < record.CoordinateCount {
		return record.IsCoordinate(name, line)
	}
	if record.Reserved(name) {
		return false
	}
	switch order := bytes.Compare(name, o.last); {
	case order < 0:
		return false
	case order == 0:
		o.n++
	default:
		o.last, o.n = name, 0
	}
	return true
}

func (o *ordinals) recount(before record.Headers) {
	o.seen = make(map[string]int)
	if o.sealed {
		o.seen[verifierField] = 1
	}
	for name := range before.All() {
		o.seen[string(name)]++
	}
}
