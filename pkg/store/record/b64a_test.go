package record

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

func TestB64AVectors(t *testing.T) {
	for _, c := range []struct{ hex, text string }{
		{"", ""}, {"00", "00"}, {"0000", "000"}, {"000000", "0000"},
		{"FF", "~l"}, {"FF00", "~l0"}, {"000102", "0042"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := EncodeB64A(b); got != c.text {
			t.Errorf("encode %s: got %q, want %q", c.hex, got, c.text)
		}
		if got, err := DecodeB64A(c.text); err != nil || !bytes.Equal(got, b) {
			t.Errorf("decode %q: got %x, %v, want %s", c.text, got, err, c.hex)
		}
	}
}

func TestB64ARejects(t *testing.T) {
	for _, text := range []string{
		"01", "001", "~m", "~l1", "=", "+", "/", "0", "00000", "00=", "00==",
		"0\n0", "\r00", "00\n", "0 0", "-0", "00é",
	} {
		if got, err := DecodeB64A(text); err == nil {
			t.Errorf("decode %q: got %x, want an error", text, got)
		}
	}
}

// TestB64AAscends: texts of equal length sort as the bytes they encode.
func TestB64AAscends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		a := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "b")
		if got, want := cmp.Compare(EncodeB64A(a), EncodeB64A(b)), bytes.Compare(a, b); got != want {
			t.Errorf("texts compare %d, bytes %d", got, want)
		}
		back, err := DecodeB64A(EncodeB64A(a))
		if err != nil || !bytes.Equal(back, a) {
			t.Errorf("round trip of %x: %x, %v", a, back, err)
		}
	})
}

// TestDigestText compares the fast check with the decoder.
func TestDigestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(EncodeB64A(rapid.SliceOfN(rapid.Byte(), 31, 33).Draw(t, "digest")))
		text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		b, err := DecodeB64A(string(text))
		if want := err == nil && len(b) == DigestLen; isDigestText(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	})
}
