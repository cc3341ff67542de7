package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/zeebo/blake3"
)

// Coordinates are the four lines that every Plex begins with.
type Coordinates struct {
	Group, App, Name string
	TAI              string // <10 digits>:<9 digits>; see FormatTAI
}

// Header is one extra header of a Plex.
type Header struct{ Name, Value string }

// FormatTAI returns the text of an instant: TAI seconds since 1970, at most 10
// digits, and nanoseconds below 1e9. Text order is time order.
func FormatTAI(seconds uint64, nanoseconds uint32) string {
	return fmt.Sprintf("%010d:%09d", seconds, nanoseconds)
}

// BuildBlob returns the Blob of some data. The record is built in buf[:0] when
// its capacity is enough, else in a new slice.
func BuildBlob(buf, data []byte) (View, error) {
	if len(data) > MaxDataLen {
		return View{}, fmt.Errorf("blob has %d bytes of data, at most %d are allowed", len(data), MaxDataLen)
	}
	b := begin(buf, len(dataLengthName)+len(": 33554432\n\n")+len(data))
	b = append(b, dataLengthName...)
	b = append(b, ": "...)
	b = strconv.AppendInt(b, int64(len(data)), 10)
	b = append(b, "\n\n"...)
	return finish(Blob, append(b, data...))
}

// BuildPlex returns the Plex with these coordinates and extra headers around a
// Blob. The extra headers are sorted by name; those of one name keep their
// order. Text that breaks a header rule or a limit is an error. The Blob is
// taken as it is, without hashing it again. The record is built as by
// BuildBlob; buf must not overlap the Blob.
func BuildPlex(buf []byte, c Coordinates, extra []Header, blob View) (View, error) {
	if blob.Kind() != Blob {
		return View{}, fmt.Errorf("a Plex carries a Blob, not a record of kind %s", blob.Kind())
	}
	byName := func(a, b Header) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(extra, byName) {
		extra = slices.Clone(extra)
		slices.SortStableFunc(extra, byName)
	}
	b := begin(buf, MaxCoordinatesLen+extraLen(extra)+len(blob.bytes))
	var order headerOrder
	var err error
	for i, value := range [CoordinateCount]string{c.Group, c.App, c.Name, c.TAI} {
		if b, err = appendHeader(b, &order, coordinateNames[i], value); err != nil {
			return View{}, err
		}
	}
	for _, h := range extra {
		if b, err = appendHeader(b, &order, h.Name, h.Value); err != nil {
			return View{}, err
		}
	}
	return finish(Plex, append(b, blob.bytes...))
}

// BuildSeal returns the Seal that carries a Plex with the mark of a verifier
// key over it. It does not verify the mark. The Plex is taken as it is,
// without hashing it again. The record is built as by BuildBlob; buf must not
// overlap the Plex.
func BuildSeal(buf []byte, plex View, key VerifierKey, mark Mark) (View, error) {
	if plex.Kind() != Plex {
		return View{}, fmt.Errorf("a Seal carries a Plex, not a record of kind %s", plex.Kind())
	}
	b := begin(buf, 2*HashLen+2*MarkTextLen+len(plex.bytes))
	b = appendLine(b, sealPairs[0][0], key.String())
	b = appendLine(b, sealPairs[0][1], mark.String())
	return finish(Seal, append(b, plex.bytes...))
}

// begin returns a slice with room for a glyph line, which finish fills in, and
// for n more bytes.
func begin(buf []byte, n int) []byte {
	return slices.Grow(buf[:0], GlyphLen+n)[:GlyphLen]
}

// finish hashes the payload and writes the glyph line in front of it.
func finish(kind Kind, b []byte) (View, error) {
	AppendGlyphLine(b[:0], MakeHash(kind, blake3.Sum256(b[GlyphLen:])))
	return Parse(b)
}

func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, '\n')
}

// appendHeader appends one header line and checks it as reading would.
func appendHeader(b []byte, order *headerOrder, name, value string) ([]byte, error) {
	at := len(b)
	b = appendLine(b, name, value)
	line := b[at:]
	// A name with a colon would be read as a shorter one; checkHeader sees it.
	err := order.next(line[:len(name)], line[len(name)+2:len(line)-1])
	return b, err
}

func extraLen(extra []Header) int {
	n := 0
	for _, h := range extra {
		n += len(h.Name) + len(h.Value) + 3
	}
	return n
}
