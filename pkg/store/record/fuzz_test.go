package record

import (
	"bytes"
	"testing"
)

func addSeeds(f *testing.F) {
	for name, c := range parseCases(f) {
		if name != "length over the limit" { // 32 MiB
			f.Add(c.rec)
		}
	}
	p := plex(f, "abc", Header{"Ref", "x B.0000000000000000000000000000000000000000000.H3"}, Header{"é", "y"})
	f.Add(blob(f, "").Bytes())
	f.Add(p.Bytes())
	f.Add(seal(f, p).Bytes())
}

// FuzzParse: reading never panics, its parts lie inside the record and add up
// to it, and strict reading accepts nothing that lenient reading refuses.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		strict, strictErr := ParseStrict(b)
		if err != nil {
			if strictErr == nil {
				t.Fatalf("only strict reading accepts: %v", err)
			}
			return
		}
		if int64(len(v.Data())) != v.DataLen() {
			t.Errorf("%d bytes of data, length %d", len(v.Data()), v.DataLen())
		}
		if again := reassemble(v); !bytes.Equal(again, b) {
			t.Errorf("the parts make\n%q, the record is\n%q", again, b)
		}
		if strictErr == nil && strict.Hash() != v.Hash() {
			t.Error("two hashes")
		}
	})
}

// reassemble puts a record together from what a View says about it.
func reassemble(v View) []byte {
	b := AppendGlyphLine(nil, v.Hash())
	for name, value := range v.sealLines().All() {
		b = appendLine(b, string(name), string(value))
	}
	if plex, ok := v.Plex(); ok {
		b = AppendGlyphLine(b, plex.Hash())
	}
	for name, value := range v.PlexHeaders().All() {
		b = appendLine(b, string(name), string(value))
	}
	if blob, ok := v.Blob(); ok {
		b = AppendGlyphLine(b, blob.Hash())
	}
	b = appendLine(b, dataLengthName, string(v.DataLenText()))
	return append(append(b, '\n'), v.Data()...)
}

// FuzzParseStrict rebuilds what strict reading accepts, byte for byte. The
// digests of the input are put right first, so that the rules are reached.
func FuzzParseStrict(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			return
		}
		b = rehash(v)
		if v, err = ParseStrict(b); err != nil {
			return
		}
		rebuilt, err := rebuild(v)
		if err != nil {
			t.Fatalf("strict reading accepts what building refuses: %v\n%q", err, b)
		}
		if by := v.sealLines(); by.Len() > 0 && !bytes.HasPrefix(by.lines, []byte("By: ")) {
			return // an older pair is not written
		}
		if !bytes.Equal(rebuilt.Bytes(), b) {
			t.Errorf("rebuilt as\n%q, was\n%q", rebuilt.Bytes(), b)
		}
	})
}

// rehash returns the record with the glyph lines that its bytes call for.
func rehash(v View) []byte {
	b := append([]byte(nil), v.Bytes()...)
	levels, n := v.levels()
	for i := n - 1; i >= 0; i-- {
		at := levels[i]
		copy(b[at:], raw(Hash(v.hashText(at)).Kind(), string(b[at+GlyphLen:])))
	}
	return b
}

func rebuild(v View) (View, error) {
	built, err := BuildBlob(nil, v.Data())
	if err != nil || v.Kind() == Blob {
		return built, err
	}
	var headers []Header
	for name, value := range v.PlexHeaders().All() {
		headers = append(headers, Header{string(name), string(value)})
	}
	c := Coordinates{headers[0].Value, headers[1].Value, headers[2].Value, headers[3].Value}
	if built, err = BuildPlex(nil, c, headers[4:], built); err != nil || v.Kind() == Plex {
		return built, err
	}
	verifier, text, _ := v.SealTexts()
	key, err := ParseVerifierKey(verifier)
	if err != nil {
		return View{}, err
	}
	mark, err := ParseMark(text)
	if err != nil {
		return View{}, err
	}
	return BuildSeal(nil, built, key, mark)
}

// FuzzScanner: every record that is handed out is strictly valid and stands in
// the stream where it should; a stream of one valid record is cut into it.
func FuzzScanner(f *testing.F) {
	addSeeds(f)
	f.Add(join([]View{blob(f, "a"), plex(f, "b"), seal(f, plex(f, "c"))}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		records, err := scanAll(bytes.NewReader(stream))
		at := 0
		for _, rec := range records {
			if !bytes.HasPrefix(stream[at:], rec) {
				t.Fatalf("record at %d is not the stream's", at)
			}
			if _, err := ParseStrict(rec); err != nil {
				t.Fatalf("handed out: %v", err)
			}
			at += len(rec)
		}
		if err == nil && at != len(stream) {
			t.Errorf("no error, yet %d of %d bytes were read", at, len(stream))
		}
		if err != nil {
			if _, strictErr := ParseStrict(stream[at:]); strictErr == nil {
				t.Errorf("a valid record at %d is refused: %v", at, err)
			}
		}
	})
}

// FuzzParseHash: what is accepted is canonical.
func FuzzParseHash(f *testing.F) {
	f.Add([]byte("B.0000000000000000000000000000000000000000000.H3"))
	f.Add([]byte("S.~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~z.H3"))
	f.Add([]byte("P.0000000000000000000000000000000000000000001.H3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ParseHash(text)
		if err == nil && MakeHash(h.Kind(), h.Digest()).String() != string(text) {
			t.Errorf("%q is read as %s", text, h)
		}
		if len(text) == HashLen {
			// The decoder is the slow twin of isDigestText.
			if _, err := DecodeB64A(string(text[2:45])); (err == nil) != isDigestText(text[2:45]) {
				t.Errorf("%q: decoder says %v", text[2:45], err)
			}
		}
		if k, err := ParseVerifierKey(text); err == nil && k.String() != string(text) {
			t.Errorf("%q is read as %s", text, k)
		}
	})
}

// FuzzDecodeB64A: every text has one byte string, and the other way round.
func FuzzDecodeB64A(f *testing.F) {
	for _, text := range []string{"", "00", "~l", "~l0", "0042", "01", "001", "~m", "=", "0\n0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := DecodeB64A(text)
		if err == nil && EncodeB64A(b) != text {
			t.Errorf("%q is decoded to %x, which is %q", text, b, EncodeB64A(b))
		}
		if back, err := DecodeB64A(EncodeB64A([]byte(text))); err != nil || string(back) != text {
			t.Errorf("round trip of %q: %q, %v", text, back, err)
		}
		if m, err := ParseMark([]byte(text)); err == nil && m.String() != text {
			t.Errorf("mark %q is read as %s", text, m)
		}
	})
}
