package record

// View is a record over its complete bytes. Everything it returns is a view
// into them. The zero View is no record.
type View struct {
	bytes   []byte
	plexAt  int // offset of the Plex; -1 when there is none
	blobAt  int // offset of the Blob
	dataAt  int // offset of the data
	dataLen int64
}

// Parse reads complete record bytes leniently: it checks what is needed to
// find the parts (glyph lines and their kinds, header lines of the form
// Name: value, the data length), and no rule, limit or digest. That is how the
// committed records of a root are read. Nothing is copied. The error is a
// *FormatError.
func Parse(b []byte) (View, error) { return ParsePrefix(b, int64(len(b))) }

// ParsePrefix is Parse of a record of length bytes of which b is the beginning:
// of the data, the View has as much as b. An error may be for want of bytes,
// where b is not all.
func ParsePrefix(b []byte, length int64) (View, error) {
	v, err := parseHead(b)
	if err != nil {
		return View{}, err
	}
	if have := length - int64(v.dataAt); have != v.dataLen {
		return View{}, wrong(v.dataAt, "%d bytes of data, Data-Length says %d", have, v.dataLen)
	}
	return v, nil
}

// parseHead finds the parts of the record that b begins with. It looks at
// everything in front of the data, and at no data.
func parseHead(b []byte) (View, error) {
	v := View{bytes: b, plexAt: -1}
	kind, err := glyphAt(b, 0, 0)
	if err != nil {
		return v, err
	}
	at := GlyphLen
	if kind == Seal {
		if at, err = skipSealLines(b, at); err != nil {
			return v, err
		}
		v.plexAt = at
		if _, err = glyphAt(b, at, Plex); err != nil {
			return v, err
		}
		at += GlyphLen
	}
	if kind == Plex {
		v.plexAt = 0
	}
	if kind != Blob {
		if at, err = skipHeaders(b, at); err != nil {
			return v, err
		}
		v.blobAt = at
		if _, err = glyphAt(b, at, Blob); err != nil {
			return v, err
		}
		at += GlyphLen
	}
	v.dataLen, v.dataAt, err = dataLength(b, at)
	return v, err
}

// glyphAt reads the glyph line at b[at] and returns its kind, which must be
// want unless that is zero.
func glyphAt(b []byte, at int, want Kind) (Kind, error) {
	if rest := b[at:]; len(rest) < GlyphLen {
		if n := min(len(rest), len(glyphStart)); string(rest[:n]) != glyphStart[:n] {
			return 0, wrong(at, "not a glyph line: %.60q", rest)
		}
		return 0, truncated(b)
	}
	h, err := ParseGlyphLine(b[at:])
	if err != nil {
		return 0, badLine(b, at, err)
	}
	if want != 0 && h.Kind() != want {
		return 0, wrong(at, "a record of kind %s where one of kind %s belongs", h.Kind(), want)
	}
	return h.Kind(), nil
}

// skipSealLines returns the offset behind the two lines of a Seal.
func skipSealLines(b []byte, at int) (int, error) {
	by, _, n, err := cutLine(b[at:])
	if err != nil {
		return 0, badLine(b, at, err)
	}
	for _, pair := range sealPairs {
		if string(by) != pair[0] {
			continue
		}
		mark, _, m, err := cutLine(b[at+n:])
		if err != nil {
			return 0, badLine(b, at+n, err)
		}
		if string(mark) != pair[1] {
			return 0, wrong(at+n, "header %.80q where %s belongs", mark, pair[1])
		}
		return at + n + m, nil
	}
	return 0, wrong(at, "header %.80q where By belongs", by)
}

// skipHeaders returns the offset of the glyph line that ends the header lines
// at b[at].
func skipHeaders(b []byte, at int) (int, error) {
	for {
		if len(b)-at >= len(glyphStart) && string(b[at:at+len(glyphStart)]) == glyphStart {
			return at, nil
		}
		_, _, n, err := cutLine(b[at:])
		if err != nil {
			return 0, badLine(b, at, err)
		}
		at += n
	}
}

// dataLength reads the Data-Length line at b[at] and the empty line behind it,
// and returns the length and the offset of the data.
func dataLength(b []byte, at int) (n int64, dataAt int, err error) {
	name, value, lineLen, err := cutLine(b[at:])
	if err != nil {
		return 0, 0, badLine(b, at, err)
	}
	if string(name) != dataLengthName {
		return 0, 0, wrong(at, "header %.80q where %s belongs", name, dataLengthName)
	}
	// 18 digits fit an int64.
	if len(value) == 0 || len(value) > 18 || value[0] == '0' && len(value) > 1 {
		return 0, 0, wrong(at, "Data-Length %.80q is not a canonical decimal", value)
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, 0, wrong(at, "Data-Length %.80q is not a canonical decimal", value)
		}
		n = n*10 + int64(c-'0')
	}
	at += lineLen
	if at == len(b) {
		return 0, 0, truncated(b)
	}
	if b[at] != '\n' {
		return 0, 0, wrong(at, "the empty line before the data is missing")
	}
	return n, at + 1, nil
}

// Bytes returns the complete record.
func (v View) Bytes() []byte { return v.bytes }

// Hash returns the typed hash that the glyph line names.
func (v View) Hash() Hash { return Hash(v.hashText(0)) }

// Kind returns the kind of the record.
func (v View) Kind() Kind { return Kind(v.bytes[len(glyphStart)]) }

// hashText returns the typed hash text of the glyph line at an offset.
func (v View) hashText(at int) []byte {
	at += len(glyphStart)
	return v.bytes[at : at+HashLen : at+HashLen]
}

// HashText returns the typed hash text of the glyph line as a view.
func (v View) HashText() []byte { return v.hashText(0) }

// Plex returns the Plex that a Seal carries; ok is false for another kind.
func (v View) Plex() (plex View, ok bool) {
	if v.plexAt <= 0 {
		return View{}, false
	}
	return View{
		bytes: v.bytes[v.plexAt:], plexAt: 0,
		blobAt: v.blobAt - v.plexAt, dataAt: v.dataAt - v.plexAt, dataLen: v.dataLen,
	}, true
}

// Blob returns the Blob that a Plex or a Seal carries; ok is false for a Blob.
func (v View) Blob() (blob View, ok bool) {
	if v.plexAt < 0 {
		return View{}, false
	}
	return View{bytes: v.bytes[v.blobAt:], plexAt: -1, dataAt: v.dataAt - v.blobAt, dataLen: v.dataLen}, true
}

// PlexHeaders returns the header lines of the Plex that the record is or
// carries: the coordinates and the extra headers. A Blob has none.
func (v View) PlexHeaders() Headers {
	if v.plexAt < 0 {
		return Headers{}
	}
	return Headers{v.bytes[v.plexAt+GlyphLen : v.blobAt]}
}

// sealLines returns the two lines of a Seal, and none for another kind.
func (v View) sealLines() Headers {
	if v.plexAt <= 0 {
		return Headers{}
	}
	return Headers{v.bytes[GlyphLen:v.plexAt]}
}

// SealTexts returns the verifier text V.<43 characters>.H3 and the mark text
// of a Seal, unchecked; ok is false for another kind.
func (v View) SealTexts() (verifier, mark []byte, ok bool) {
	lines := v.sealLines()
	_, verifier, ok = lines.Next()
	_, mark, _ = lines.Next()
	return verifier, mark, ok
}

// Data returns the data of the Blob that the record is or carries.
func (v View) Data() []byte { return v.bytes[v.dataAt:] }

// DataLen returns the length of the data in bytes, as Data-Length states it.
func (v View) DataLen() int64 { return v.dataLen }

// DataLenText returns the length of the data as canonical decimal text.
func (v View) DataLenText() []byte {
	start := v.blobAt + GlyphLen + len(dataLengthName) + len(": ")
	return v.bytes[start : v.dataAt-2 : v.dataAt-2]
}
