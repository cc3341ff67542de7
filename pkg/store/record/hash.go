package record

import (
	"errors"
	"fmt"

	"github.com/zeebo/blake3"
)

// Sizes of the typed hash text and of the glyph line, in bytes.
const (
	HashLen   = 48
	GlyphLen  = 55
	DigestLen = 32
)

// glyphStart is the fixed start of every glyph line.
const glyphStart = "🖧: "

// Kind is the type letter of a record: what its typed hash starts with.
type Kind byte

// The three kinds of record.
const (
	Blob Kind = 'B'
	Plex Kind = 'P'
	Seal Kind = 'S'
)

// String returns the type letter.
func (k Kind) String() string { return string(rune(k)) }

// Valid reports whether k is one of the three kinds.
func (k Kind) Valid() bool { return k == Blob || k == Plex || k == Seal }

// Digest is the unkeyed BLAKE3-256 digest of a record's canonical payload.
type Digest [DigestLen]byte

// Hash is the typed hash text of a record: T.<43 B64A characters>.H3.
// The zero Hash is no hash at all; see IsZero.
type Hash [HashLen]byte

// MakeHash returns the typed hash text for a digest.
func MakeHash(kind Kind, digest Digest) Hash {
	var h Hash
	h[0], h[1] = byte(kind), '.'
	b64a.Encode(h[2:45], digest[:])
	copy(h[45:], ".H3")
	return h
}

// ParseHash reads a typed hash text of exactly HashLen bytes and rejects
// every spelling that is not canonical.
func ParseHash(text []byte) (Hash, error) {
	if len(text) != HashLen {
		return Hash{}, fmt.Errorf("typed hash has %d bytes, want %d", len(text), HashLen)
	}
	if !IsHash(text) {
		return Hash{}, fmt.Errorf("typed hash %q is not of the form T.<43 B64A characters>.H3", text)
	}
	return Hash(text), nil
}

// IsHash reports whether text is a canonical typed hash.
func IsHash(text []byte) bool {
	return len(text) == HashLen && Kind(text[0]).Valid() && text[1] == '.' &&
		string(text[45:]) == ".H3" && isDigestText(text[2:45])
}

// Kind returns the record kind the hash names.
func (h Hash) Kind() Kind { return Kind(h[0]) }

// String returns the 48-byte text.
func (h Hash) String() string { return string(h[:]) }

// IsZero reports whether h is the zero value, which names no record.
func (h Hash) IsZero() bool { return h == Hash{} }

// Digest returns the digest that the hash text encodes. It panics when h was
// not made by MakeHash or ParseHash, which is a bug of the caller.
func (h Hash) Digest() Digest {
	var d Digest
	if _, err := b64a.Decode(d[:], h[2:45]); err != nil {
		panic("record: digest of a hash that was never parsed: " + err.Error())
	}
	return d
}

// AppendGlyphLine appends the 55-byte glyph line of a record to dst.
func AppendGlyphLine(dst []byte, h Hash) []byte {
	dst = append(dst, glyphStart...)
	dst = append(dst, h[:]...)
	return append(dst, '\n')
}

// ParseGlyphLine reads the glyph line that src begins with. It looks at the
// first GlyphLen bytes only; it proves nothing about what follows them.
func ParseGlyphLine(src []byte) (Hash, error) {
	if len(src) < GlyphLen {
		return Hash{}, fmt.Errorf("glyph line has %d bytes, want %d", len(src), GlyphLen)
	}
	if string(src[:len(glyphStart)]) != glyphStart || src[GlyphLen-1] != '\n' {
		return Hash{}, fmt.Errorf("not a glyph line: %.60q", src[:GlyphLen])
	}
	return ParseHash(src[len(glyphStart) : GlyphLen-1])
}

// HasGlyphLine reports whether src begins with the glyph line of h, which was
// parsed. It is the quick way to say that all is well; ParseGlyphLine tells
// what is wrong.
func HasGlyphLine(src []byte, h *Hash) bool {
	const at = len(glyphStart)
	return len(src) >= GlyphLen && string(src[:at]) == glyphStart &&
		string(src[at:GlyphLen-1]) == string(h[:]) && src[GlyphLen-1] == '\n'
}

// ErrHashMismatch says that bytes do not hash to the typed hash they are
// stored under.
var ErrHashMismatch = errors.New("bytes do not match the typed hash")

// Verifier checks a record against its full typed hash while the record is
// written to it in pieces: the glyph line must name the hash, and everything
// behind the glyph line must have its digest.
type Verifier struct {
	want   Hash
	glyph  [GlyphLen]byte
	filled int
	hasher *blake3.Hasher
}

// NewVerifier returns a Verifier for a record stored under want.
func NewVerifier(want Hash) *Verifier {
	return &Verifier{want: want, hasher: blake3.New()}
}

// Reset makes v ready for another record, without allocating.
func (v *Verifier) Reset(want Hash) {
	v.want, v.filled = want, 0
	v.hasher.Reset()
}

// Write takes the next bytes of the record. It never fails.
func (v *Verifier) Write(p []byte) (int, error) {
	n := len(p)
	if v.filled < GlyphLen {
		c := copy(v.glyph[v.filled:], p)
		v.filled += c
		p = p[c:]
	}
	if len(p) > 0 {
		v.hasher.Write(p) // a hash never fails to take bytes
	}
	return n, nil
}

// Check reports whether the bytes written so far are the whole record. The
// error wraps ErrHashMismatch.
func (v *Verifier) Check() error {
	// A hash that was never parsed is no one's, whatever the bytes say.
	if !HasGlyphLine(v.glyph[:v.filled], &v.want) || !v.want.Kind().Valid() {
		got, err := ParseGlyphLine(v.glyph[:v.filled])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrHashMismatch, err)
		}
		if got != v.want {
			return fmt.Errorf("%w: glyph line names %s, want %s", ErrHashMismatch, got, v.want)
		}
	}
	return v.checkDigest()
}

// checkDigest compares the digest of the payload.
func (v *Verifier) checkDigest() error {
	var d Digest
	v.hasher.Sum(d[:0])
	if sum := MakeHash(v.want.Kind(), d); sum != v.want {
		return fmt.Errorf("%w: payload hashes to %s, want %s", ErrHashMismatch, sum, v.want)
	}
	return nil
}

// CheckBytes checks that rec is the whole record stored under want, like Reset,
// Write and Check.
func (v *Verifier) CheckBytes(rec []byte, want Hash) error {
	v.Reset(want)
	if HasGlyphLine(rec, &want) && want.Kind().Valid() {
		v.hasher.Write(rec[GlyphLen:]) // a hash never fails to take bytes
		return v.checkDigest()
	}
	v.Write(rec)
	return v.Check()
}

// VerifyBytes checks that rec is the whole record stored under want.
func VerifyBytes(rec []byte, want Hash) error {
	return NewVerifier(want).CheckBytes(rec, want)
}
