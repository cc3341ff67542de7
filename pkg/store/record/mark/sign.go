package mark

import (
	"errors"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/lace-store/lace/pkg/store/record"
)

// Signer signs Plex records with one secret. The arithmetic under it does not
// run in constant time: do not sign where a stranger can measure it.
type Signer struct {
	d   secp256k1.ModNScalar // the secret whose point has an even y
	key record.VerifierKey
}

// NewSigner returns the Signer of a secret, which is an error unless it is a
// big-endian number in [1, n).
func NewSigner(secret [32]byte) (*Signer, error) {
	s := new(Signer)
	if s.d.SetBytes(&secret) != 0 || s.d.IsZero() {
		return nil, errors.New("secret is zero or not below the group's order")
	}
	p := baseMult(&s.d)
	if p.Y.IsOdd() {
		s.d.Negate()
	}
	s.key = *p.X.Bytes()
	return s, nil
}

// Key returns the key that verifies this signer's marks.
func (s *Signer) Key() record.VerifierKey { return s.key }

// Sign returns the mark over the Plex of that hash. random should be fresh; a
// repeated one makes the mark repeat, and gives nothing of the secret away.
func (s *Signer) Sign(plex record.Hash, random [32]byte) (record.Mark, error) {
	digest := plex.Digest()
	mask := hash(contextAux, random[:])
	d := s.d.Bytes()
	for i := range mask {
		mask[i] ^= d[i]
	}
	h := hash(contextNonce, mask[:], s.key[:], digest[:])
	var k secp256k1.ModNScalar
	k.SetBytes(&h) // reduces
	if k.IsZero() {
		return record.Mark{}, errors.New("the nonce is zero: sign with other randomness")
	}
	R := baseMult(&k)
	if R.Y.IsOdd() {
		k.Negate()
	}
	r := *R.X.Bytes()
	sum := challenge(r, s.key, plex).Mul(&s.d).Add(&k).Bytes()
	var m record.Mark
	copy(m[:32], r[:])
	copy(m[32:], sum[:])
	// A mark that a fault has spoiled could give the secret away.
	if err := Verify(s.key, plex, m); err != nil {
		return record.Mark{}, fmt.Errorf("the mark just made: %w", err)
	}
	return m, nil
}

// baseMult returns k*G in affine form.
func baseMult(k *secp256k1.ModNScalar) (p secp256k1.JacobianPoint) {
	secp256k1.ScalarBaseMultNonConst(k, &p)
	p.ToAffine()
	return p
}
