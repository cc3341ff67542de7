package record

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
)

func TestParseHash(t *testing.T) {
	good := MakeHash(Plex, blake3.Sum256([]byte("x")))
	h, err := ParseHash([]byte(good.String()))
	if err != nil || h != good || h.Kind() != Plex || h.Digest() != blake3.Sum256([]byte("x")) {
		t.Fatalf("got %v, %v", h, err)
	}
	zeros := strings.Repeat("0", 43)
	for name, text := range map[string]string{
		"empty":           "",
		"short":           good.String()[:47],
		"long":            good.String() + "0",
		"other kind":      "V." + zeros + ".H3",
		"lower case kind": "b." + zeros + ".H3",
		"no dot":          "B:" + zeros + ".H3",
		"other version":   "B." + zeros + ".H2",
		"tail bits":       "B." + zeros[:42] + "1.H3",
		"alphabet":        "B." + zeros[:42] + "+.H3",
		"line break":      "B." + zeros[:42] + "\n.H3",
	} {
		if h, err := ParseHash([]byte(text)); err == nil {
			t.Errorf("%s: got %v, want an error", name, h)
		}
	}
}

func TestGlyphLine(t *testing.T) {
	h := MakeHash(Seal, blake3.Sum256(nil))
	line := AppendGlyphLine(nil, h)
	if len(line) != GlyphLen || string(line[:6]) != "\xF0\x9F\x96\xA7: " {
		t.Fatalf("glyph line %q", line)
	}
	if got, err := ParseGlyphLine(append(line, "more"...)); err != nil || got != h {
		t.Errorf("got %v, %v", got, err)
	}
	for at := range line {
		bad := append([]byte(nil), line...)
		bad[at] ^= 0x80
		if _, err := ParseGlyphLine(bad); err == nil {
			t.Errorf("byte %d flipped: no error", at)
		}
		if _, err := ParseGlyphLine(line[:at]); err == nil {
			t.Errorf("cut at %d: no error", at)
		}
	}
}

// TestVerifierInPieces writes one record in pieces of every size.
func TestVerifierInPieces(t *testing.T) {
	rec := blob(t, strings.Repeat("data", 40))
	v := NewVerifier(rec.Hash())
	for size := 1; size <= len(rec.Bytes()); size++ {
		v.Reset(rec.Hash())
		for rest := rec.Bytes(); len(rest) > 0; {
			n := min(size, len(rest))
			v.Write(rest[:n])
			rest = rest[n:]
		}
		if err := v.Check(); err != nil {
			t.Fatalf("pieces of %d: %v", size, err)
		}
	}
}

func TestVerifyBytesRejects(t *testing.T) {
	rec := blob(t, "some data")
	other := blob(t, "other data")
	if err := VerifyBytes(rec.Bytes(), other.Hash()); !errors.Is(err, ErrHashMismatch) {
		t.Errorf("another record's hash: %v", err)
	}
	for at := range rec.Bytes() {
		bad := append([]byte(nil), rec.Bytes()...)
		bad[at] ^= 1
		if err := VerifyBytes(bad, rec.Hash()); !errors.Is(err, ErrHashMismatch) {
			t.Errorf("byte %d flipped: %v", at, err)
		}
		if err := VerifyBytes(rec.Bytes()[:at], rec.Hash()); !errors.Is(err, ErrHashMismatch) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
}

// TestCheckBytesIsCheckInPieces compares the check of whole records with that of
// pieces, verdict and words.
func TestCheckBytesIsCheckInPieces(t *testing.T) {
	rec, other := blob(t, "some data").Bytes(), blob(t, "other data")
	v := NewVerifier(Hash{})
	agree := func(b []byte, want Hash) {
		t.Helper()
		pieces := NewVerifier(want)
		for _, c := range b {
			pieces.Write([]byte{c})
		}
		if got, twin := fmt.Sprint(v.CheckBytes(b, want)), fmt.Sprint(pieces.Check()); got != twin {
			t.Errorf("%q as %s: %s, in pieces %s", b, want, got, twin)
		}
	}
	agree(rec, Hash(rec[6:54]))
	agree(rec, other.Hash())
	agree(nil, other.Hash())
	for at := range rec {
		bad := append([]byte(nil), rec...)
		bad[at] ^= 1
		agree(bad, Hash(rec[6:54]))
		agree(bad, Hash(append(bad, make([]byte, 54)...)[6:54])) // names itself
		agree(rec[:at], Hash(rec[6:54]))
	}
}
