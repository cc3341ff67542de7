package mark

import "github.com/zeebo/blake3"

// Contexts of the derive-key hashes.
const (
	contextAux       = "lace-🖧/aux"
	contextNonce     = "lace-🖧/nonce"
	contextChallenge = "lace-🖧/challenge"
)

// hash returns the first 32 bytes of BLAKE3 derive-key over the parts.
func hash(context string, parts ...[]byte) (out [32]byte) {
	var material []byte
	for _, p := range parts {
		material = append(material, p...)
	}
	blake3.DeriveKey(context, material, out[:])
	return out
}
