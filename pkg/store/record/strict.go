package record

import (
	"github.com/zeebo/blake3"
)

// ParseStrict reads complete record bytes as they must be to be admitted: all
// header rules and limits, and the digest of the record and of every record
// embedded in it. The mark of a Seal is well-formed, not verified: that is the
// business of record/mark. Nothing is copied. The error is a *FormatError; for
// a wrong digest it wraps ErrHashMismatch.
func ParseStrict(b []byte) (View, error) {
	v, err := Parse(b)
	if err != nil {
		return View{}, err
	}
	if err := v.checkHead(); err != nil {
		return View{}, err
	}
	levels, n := v.levels()
	for _, at := range levels[:n] {
		if err := v.checkDigest(at, blake3.Sum256(b[at+GlyphLen:])); err != nil {
			return View{}, err
		}
	}
	return v, nil
}

// levels returns the offsets of the n glyph lines, outermost first.
func (v View) levels() (at [3]int, n int) {
	n = 1
	if v.plexAt > 0 {
		at[n] = v.plexAt
		n++
	}
	if v.blobAt > 0 {
		at[n] = v.blobAt
		n++
	}
	return at, n
}

// checkDigest compares the glyph line at an offset with the digest of what
// follows it.
func (v View) checkDigest(at int, sum Digest) error {
	want := Hash(v.hashText(at))
	if got := MakeHash(want.Kind(), sum); got != want {
		return wrong(at, "%w: glyph line names %s, payload hashes to %s", ErrHashMismatch, want, got)
	}
	return nil
}

// checkHead applies every rule about the bytes in front of the data.
func (v View) checkHead() error {
	if v.dataLen > MaxDataLen {
		return wrong(v.dataAt, "%d bytes of data, at most %d are allowed", v.dataLen, MaxDataLen)
	}
	if err := v.checkSealLines(); err != nil {
		return err
	}
	if v.plexAt >= 0 {
		if err := v.checkPlexHeaders(); err != nil {
			return err
		}
	}
	if n := int64(v.dataAt) + v.dataLen; n > MaxRecordLen {
		return wrong(0, "record has %d bytes, at most %d are allowed", n, MaxRecordLen)
	}
	return nil
}

func (v View) checkSealLines() error {
	verifier, mark, ok := v.SealTexts()
	if !ok {
		return nil
	}
	if _, err := ParseVerifierKey(verifier); err != nil {
		return &FormatError{Offset: GlyphLen, Err: err}
	}
	if _, err := ParseMark(mark); err != nil {
		return &FormatError{Offset: GlyphLen, Err: err}
	}
	return nil
}

func (v View) checkPlexHeaders() error {
	var order headerOrder
	headers := v.PlexHeaders()
	for rest := headers; ; {
		at := v.plexAt + GlyphLen + headers.Len() - rest.Len()
		name, value, ok := rest.Next()
		if !ok {
			if err := order.done(); err != nil {
				return &FormatError{Offset: int64(at), Err: err}
			}
			return nil
		}
		if err := order.next(name, value); err != nil {
			return &FormatError{Offset: int64(at), Err: err}
		}
	}
}
