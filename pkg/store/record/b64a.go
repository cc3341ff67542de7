package record

import (
	"encoding/base64"
	"fmt"
)

// alphabetB64A is the Base64-Ascend alphabet. It is in byte order, so that
// texts of equal length sort as the bytes they encode.
const alphabetB64A = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"

// b64a rejects nonzero tail bits (Strict), so that every byte string has
// exactly one text.
var b64a = base64.NewEncoding(alphabetB64A).WithPadding(base64.NoPadding).Strict()

// valuesB64A has the 6 bits of each character, and notB64A for every byte
// outside the alphabet. It is never written to.
var valuesB64A = func() (values [256]uint8) {
	for i := range values {
		values[i] = notB64A
	}
	for i := range len(alphabetB64A) {
		values[alphabetB64A[i]] = uint8(i)
	}
	return values
}()

const notB64A = 0xFF

// isDigestText reports whether text encodes DigestLen bytes, without decoding
// them: projecting facts asks this about every glyph line and link.
func isDigestText(text []byte) bool {
	if len(text) != (DigestLen*8+5)/6 {
		return false
	}
	var all uint8
	for _, c := range text {
		all |= valuesB64A[c]
	}
	// 43 characters have 258 bits: the last two must be zero.
	return all&0xC0 == 0 && valuesB64A[text[len(text)-1]]&3 == 0
}

// EncodeB64A returns the Base64-Ascend text of src, without padding.
func EncodeB64A(src []byte) string { return b64a.EncodeToString(src) }

// DecodeB64A returns the bytes that text encodes. Text that no byte string
// encodes to (a byte outside the alphabet, a length of 4n+1, nonzero tail
// bits) is an error.
func DecodeB64A(text string) ([]byte, error) {
	for i := 0; i < len(text); i++ {
		// encoding/base64 skips line breaks; B64A has none.
		if text[i] == '\n' || text[i] == '\r' {
			return nil, fmt.Errorf("B64A text has a line break at byte %d", i)
		}
	}
	b, err := b64a.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("B64A text %.60q: %w", text, err)
	}
	return b, nil
}
