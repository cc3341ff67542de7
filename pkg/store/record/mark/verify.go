package mark

import (
	"errors"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/lace-store/lace/pkg/store/record"
)

// ErrInvalid says that a mark is not the verifier's signature over the Plex.
var ErrInvalid = errors.New("mark does not verify")

// Verify checks that m is the signature of key's owner over the Plex of that
// hash. The error wraps ErrInvalid and says which step refused.
func Verify(key record.VerifierKey, plex record.Hash, m record.Mark) error {
	var r, s [32]byte
	copy(r[:], m[:32])
	copy(s[:], m[32:])

	var rx secp256k1.FieldVal
	if rx.SetBytes(&r) != 0 {
		return fmt.Errorf("%w: r is not below the field's prime", ErrInvalid)
	}
	var scalar secp256k1.ModNScalar
	if scalar.SetBytes(&s) != 0 {
		return fmt.Errorf("%w: s is not below the group's order", ErrInvalid)
	}
	p, err := point(key)
	if err != nil {
		return err
	}
	e := challenge(r, key, plex)
	var sG, eP, R secp256k1.JacobianPoint
	secp256k1.ScalarBaseMultNonConst(&scalar, &sG)
	secp256k1.ScalarMultNonConst(e.Negate(), &p, &eP)
	secp256k1.AddNonConst(&sG, &eP, &R)
	if R.Z.IsZero() || R.X.IsZero() && R.Y.IsZero() {
		return fmt.Errorf("%w: the nonce point is at infinity", ErrInvalid)
	}
	R.ToAffine()
	if R.Y.IsOdd() {
		return fmt.Errorf("%w: the nonce point has an odd y", ErrInvalid)
	}
	if !R.X.Equals(&rx) {
		return fmt.Errorf("%w: the nonce point is another", ErrInvalid)
	}
	return nil
}

// VerifySeal verifies the mark of a Seal over the Plex it carries. It reads
// what stands in front of the data alone. A record of another kind is an
// error; so are texts that are no verifier key and mark.
func VerifySeal(seal record.View) error {
	keyText, markText, ok := seal.SealTexts()
	if !ok {
		return fmt.Errorf("a record of kind %s has no mark", seal.Kind())
	}
	key, err := record.ParseVerifierKey(keyText)
	if err != nil {
		return err
	}
	m, err := record.ParseMark(markText)
	if err != nil {
		return err
	}
	plex, _ := seal.Plex()
	return Verify(key, plex.Hash(), m)
}

// point returns the point with the key's x coordinate and an even y.
func point(key record.VerifierKey) (p secp256k1.JacobianPoint, err error) {
	x := [32]byte(key)
	if p.X.SetBytes(&x) != 0 {
		return p, fmt.Errorf("%w: the verifier key is not below the field's prime", ErrInvalid)
	}
	if !secp256k1.DecompressY(&p.X, false, &p.Y) {
		return p, fmt.Errorf("%w: no point has the verifier key as its x", ErrInvalid)
	}
	p.Y.Normalize()
	p.Z.SetInt(1)
	return p, nil
}

// challenge returns e = H(challenge, r || P.x || msg) mod n.
func challenge(r [32]byte, key record.VerifierKey, plex record.Hash) *secp256k1.ModNScalar {
	digest := plex.Digest()
	h := hash(contextChallenge, r[:], key[:], digest[:])
	var e secp256k1.ModNScalar
	e.SetBytes(&h) // reduces
	return &e
}
