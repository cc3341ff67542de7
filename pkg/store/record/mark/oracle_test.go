package mark

import (
	"math/big"

	"github.com/lace-store/lace/pkg/store/record"
)

// The oracle does the same steps with schoolbook arithmetic on math/big, and
// shares nothing with the package but the hash.

func number(hex string) *big.Int {
	n, ok := new(big.Int).SetString(hex, 16)
	if !ok {
		panic(hex)
	}
	return n
}

var (
	fieldP = number("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f")
	orderN = number("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	baseG  = &affine{
		number("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"),
		number("483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"),
	}
)

// affine is a point; nil is the point at infinity.
type affine struct{ x, y *big.Int }

func add(a, b *affine) *affine {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	var slope *big.Int
	if a.x.Cmp(b.x) == 0 {
		if new(big.Int).Mod(new(big.Int).Add(a.y, b.y), fieldP).Sign() == 0 {
			return nil
		}
		top := new(big.Int).Mul(big.NewInt(3), new(big.Int).Mul(a.x, a.x))
		slope = top.Mul(top, new(big.Int).ModInverse(new(big.Int).Lsh(a.y, 1), fieldP))
	} else {
		run := new(big.Int).Mod(new(big.Int).Sub(b.x, a.x), fieldP)
		slope = new(big.Int).Mul(new(big.Int).Sub(b.y, a.y), run.ModInverse(run, fieldP))
	}
	x := new(big.Int).Mul(slope, slope)
	x.Sub(x, a.x).Sub(x, b.x).Mod(x, fieldP)
	y := new(big.Int).Sub(a.x, x)
	y.Mul(y, slope).Sub(y, a.y).Mod(y, fieldP)
	return &affine{x, y}
}

func times(k *big.Int, p *affine) (sum *affine) {
	for i := k.BitLen() - 1; i >= 0; i-- {
		sum = add(sum, sum)
		if k.Bit(i) == 1 {
			sum = add(sum, p)
		}
	}
	return sum
}

// oracleKey returns the secret whose point has an even y, and that point's x.
func oracleKey(secret *big.Int) (d *big.Int, key record.VerifierKey) {
	p := times(secret, baseG)
	d = secret
	if p.y.Bit(0) == 1 {
		d = new(big.Int).Sub(orderN, secret)
	}
	p.x.FillBytes(key[:])
	return d, key
}

func oracleChallenge(r []byte, key record.VerifierKey, plex record.Hash) *big.Int {
	digest := plex.Digest()
	h := hash("lace-🖧/challenge", r, key[:], digest[:])
	return new(big.Int).Mod(new(big.Int).SetBytes(h[:]), orderN)
}

// oracleMark signs with a given nonce, which is negated when its point has an
// odd y, unless keepOdd.
func oracleMark(d *big.Int, key record.VerifierKey, plex record.Hash, k *big.Int, keepOdd bool) (m record.Mark) {
	R := times(k, baseG)
	if R.y.Bit(0) == 1 && !keepOdd {
		k = new(big.Int).Sub(orderN, k)
	}
	R.x.FillBytes(m[:32])
	s := new(big.Int).Mul(oracleChallenge(m[:32], key, plex), d)
	s.Add(s, k).Mod(s, orderN).FillBytes(m[32:])
	return m
}

// oracleNonce derives the nonce of a signature.
func oracleNonce(d *big.Int, key record.VerifierKey, plex record.Hash, random [32]byte) *big.Int {
	digest := plex.Digest()
	mask := hash("lace-🖧/aux", random[:])
	var secret [32]byte
	d.FillBytes(secret[:])
	for i := range mask {
		mask[i] ^= secret[i]
	}
	h := hash("lace-🖧/nonce", mask[:], key[:], digest[:])
	return new(big.Int).Mod(new(big.Int).SetBytes(h[:]), orderN)
}

// oracleVerify reports whether m verifies.
func oracleVerify(key record.VerifierKey, plex record.Hash, m record.Mark) bool {
	r, s := new(big.Int).SetBytes(m[:32]), new(big.Int).SetBytes(m[32:])
	x := new(big.Int).SetBytes(key[:])
	if r.Cmp(fieldP) >= 0 || s.Cmp(orderN) >= 0 || x.Cmp(fieldP) >= 0 {
		return false
	}
	square := new(big.Int).Exp(x, big.NewInt(3), fieldP)
	y := new(big.Int).ModSqrt(square.Add(square, big.NewInt(7)).Mod(square, fieldP), fieldP)
	if y == nil {
		return false
	}
	if y.Bit(0) == 1 {
		y.Sub(fieldP, y)
	}
	minusE := new(big.Int).Sub(orderN, oracleChallenge(m[:32], key, plex))
	R := add(times(s, baseG), times(minusE, &affine{x, y}))
	return R != nil && R.y.Bit(0) == 0 && R.x.Cmp(r) == 0
}
