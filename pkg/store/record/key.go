package record

import "fmt"

// Sizes of a Seal's two values.
const (
	VerifierKeyLen = 32 // bytes of a verifier key
	MarkLen        = 64 // bytes of a mark
	MarkTextLen    = 86 // B64A characters of a mark
)

// VerifierKey is the key that a Seal's mark is verified with: the x coordinate
// of a point whose y is even. Its text is V.<43 B64A characters>.H3.
type VerifierKey [VerifierKeyLen]byte

// String returns the 48-byte text.
func (k VerifierKey) String() string { return "V." + EncodeB64A(k[:]) + ".H3" }

// ParseVerifierKey reads the text of a verifier key and rejects every spelling
// that is not canonical. It does not ask whether such a point exists.
func ParseVerifierKey(text []byte) (VerifierKey, error) {
	var k VerifierKey
	if len(text) != HashLen || string(text[:2]) != "V." || string(text[45:]) != ".H3" {
		return k, fmt.Errorf("verifier %.60q is not of the form V.<43 characters>.H3", text)
	}
	b, err := DecodeB64A(string(text[2:45]))
	if err != nil {
		return k, fmt.Errorf("verifier %q: %w", text, err)
	}
	copy(k[:], b)
	return k, nil
}

// Mark is the signature of a Seal over the digest of its Plex.
type Mark [MarkLen]byte

// String returns the mark's text of MarkTextLen characters.
func (m Mark) String() string { return EncodeB64A(m[:]) }

// ParseMark reads the text of a mark and rejects every spelling that is not
// canonical. It does not verify the mark.
func ParseMark(text []byte) (Mark, error) {
	var m Mark
	if len(text) != MarkTextLen {
		return m, fmt.Errorf("mark has %d characters, want %d", len(text), MarkTextLen)
	}
	b, err := DecodeB64A(string(text))
	if err != nil {
		return m, fmt.Errorf("mark: %w", err)
	}
	copy(m[:], b)
	return m, nil
}
