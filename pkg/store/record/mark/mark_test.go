package mark

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store/record"
)

// vectors were made once with this package and agree with the oracle. Another
// implementation of the format must reproduce them.
var vectors = []struct {
	secret, random string // hexadecimal
	message        string // the Plex hash is P over the BLAKE3 of this text
	key, mark      string
}{
	{
		secret:  "0000000000000000000000000000000000000000000000000000000000000001",
		random:  "0000000000000000000000000000000000000000000000000000000000000000",
		message: "",
		key:     "V.URubVkcSjvmLd6ALodSB1lAR~DhioYZPMVA1MmRt5uW.H3",
		mark:    "JLiwbzZvE7VRV3HWw6bTGL08qZnMzuTlIAcfrrbOGVLQAdK6m2rR5HOy~zDHPmfhdoytl8ADHR9vPJTg3_5JhW",
	},
	{
		secret:  "0000000000000000000000000000000000000000000000000000000000000003",
		random:  "0000000000000000000000000000000000000000000000000000000000000001",
		message: "message",
		key:     "V.zJ2A0P9Olm19D4z5z9qIARKmn4M3RublXW7m4woWDk_.H3",
		mark:    "nLo8_3NKL19JpDNfVuQANoQ8oWjD8XCJjor1Fgomo007G_zjDAFnzT0hgfwouDNpw6OsptzPb~9VjoZbV1wcnW",
	},
	{
		secret:  "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
		random:  "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		message: "message",
		key:     "V.URubVkcSjvmLd6ALodSB1lAR~DhioYZPMVA1MmRt5uW.H3",
		mark:    "_d~qgGjlPvl7RraD7iUipIF6pSWwvyhzxf1ykOFHgqJfeYewt2485k1Td0csks_vXokklPu2ZvuBGty0NBq2dl",
	},
	{
		secret:  "b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef",
		random:  "243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89",
		message: "🖧",
		key:     "V.s~7NVnec75xr63SbrnD1kaZzgXrYshwOGnGFUq0gea_.H3",
		mark:    "MKGpkgbzscMVtk23h89Dy1nQZyuVvfKKpKgoomXVexRyB1ZXL_jmM0tGfZFB1~ARrr967EprT9ADz_~I7PZdal",
	},
}

func plexHash(message string) record.Hash {
	return record.MakeHash(record.Plex, blake3.Sum256([]byte(message)))
}

func bytes32(t testing.TB, text string) (b [32]byte) {
	t.Helper()
	if n, err := hex.Decode(b[:], []byte(text)); err != nil || n != 32 {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return b
}

func signer(t testing.TB, secret [32]byte) *Signer {
	t.Helper()
	s, err := NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVectors(t *testing.T) {
	for i, v := range vectors {
		s := signer(t, bytes32(t, v.secret))
		if got := s.Key().String(); got != v.key {
			t.Errorf("vector %d: key %s, want %s", i, got, v.key)
		}
		m, err := s.Sign(plexHash(v.message), bytes32(t, v.random))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.String(); got != v.mark {
			t.Errorf("vector %d: mark %s, want %s", i, got, v.mark)
		}
	}
}

// TestDeriveKey pins the hash to the published vectors of BLAKE3.
func TestDeriveKey(t *testing.T) {
	const context = "BLAKE3 2019-12-27 16:29:52 test vectors context"
	got := hash(context)
	if want := "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"; hex.EncodeToString(got[:]) != want {
		t.Errorf("no input: got %x, want %s", got, want)
	}
	if one, parts := hash(context, []byte("abc")), hash(context, []byte("a"), nil, []byte("bc")); one != parts {
		t.Error("parts are not concatenated")
	}
}

// TestAgainstOracle signs and verifies both ways, on draws by seed. The oracle
// is slow, so there are few.
func TestAgainstOracle(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { againstOracle(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func againstOracle(t *testing.T, draw *rand.Rand) {
	var secret, random [32]byte
	for i := range secret {
		secret[i], random[i] = byte(draw.Uint32()), byte(draw.Uint32())
	}
	plex := plexHash(fmt.Sprint(draw.Uint64()))
	s := signer(t, secret)
	d, key := oracleKey(new(big.Int).SetBytes(secret[:]))
	if s.Key() != key {
		t.Fatalf("key %s, want %s", s.Key(), key)
	}
	m, err := s.Sign(plex, random)
	if err != nil {
		t.Fatal(err)
	}
	if want := oracleMark(d, key, plex, oracleNonce(d, key, plex, random), false); m != want {
		t.Fatalf("mark %s, want %s", m, want)
	}
	if !oracleVerify(key, plex, m) {
		t.Fatal("the oracle refuses the mark")
	}
	m[draw.IntN(len(m))] ^= 1 << draw.IntN(8)
	if err := Verify(key, plex, m); !errors.Is(err, ErrInvalid) || oracleVerify(key, plex, m) {
		t.Fatalf("flipped bit: %v", err)
	}
}

// TestVerifyRefuses has one case for each step that can refuse.
func TestVerifyRefuses(t *testing.T) {
	d, key := oracleKey(big.NewInt(12345))
	plex := plexHash("message")
	good := oracleMark(d, key, plex, big.NewInt(2), false)
	if err := Verify(key, plex, good); err != nil {
		t.Fatal(err)
	}
	withR := func(m record.Mark, r *big.Int) record.Mark { r.FillBytes(m[:32]); return m }
	withS := func(m record.Mark, s *big.Int) record.Mark { s.FillBytes(m[32:]); return m }
	all := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	// s*G = e*P, so that nothing is left over.
	infinite := oracleChallenge(good[:32], key, plex)
	infinite.Mul(infinite, d).Mod(infinite, orderN)
	odd := big.NewInt(2)
	for times(odd, baseG).y.Bit(0) == 0 {
		odd.Add(odd, big.NewInt(1))
	}
	negated := new(big.Int).Sub(orderN, new(big.Int).SetBytes(good[32:]))
	var noPoint, keyP record.VerifierKey
	noPoint[31] = 5 // 5^3 + 7 is no square
	fieldP.FillBytes(keyP[:])
	for name, c := range map[string]struct {
		key  record.VerifierKey
		plex record.Hash
		mark record.Mark
		want string
	}{
		"r is p":           {key, plex, withR(good, fieldP), "r is not below"},
		"r is the maximum": {key, plex, withR(good, all), "r is not below"},
		"s is n":           {key, plex, withS(good, orderN), "s is not below"},
		"s is the maximum": {key, plex, withS(good, all), "s is not below"},
		"infinity":         {key, plex, withS(good, infinite), "at infinity"},
		"odd y":            {key, plex, oracleMark(d, key, plex, odd, true), "an odd y"},
		"s negated":        {key, plex, withS(good, negated), "mark does not verify"},
		"zero mark":        {key, plex, record.Mark{}, "mark does not verify"},
		"other plex":       {key, plexHash("other"), good, "mark does not verify"},
		"no such point":    {noPoint, plex, good, "no point has"},
		"key is p":         {keyP, plex, good, "verifier key is not below"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Verify(c.key, c.plex, c.mark)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if oracleVerify(c.key, c.plex, c.mark) {
				t.Error("the oracle accepts it")
			}
		})
	}
}

// TestEveryBit flips each bit of a mark, and every third of its key and its
// digest.
func TestEveryBit(t *testing.T) {
	s := signer(t, [32]byte{31: 9})
	digest := blake3.Sum256([]byte("message"))
	m, err := s.Sign(record.MakeHash(record.Plex, digest), [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	check := func(key record.VerifierKey, digest record.Digest, m record.Mark, what string, bit int) {
		if err := Verify(key, record.MakeHash(record.Plex, digest), m); !errors.Is(err, ErrInvalid) {
			t.Errorf("bit %d of the %s flipped: %v", bit, what, err)
		}
	}
	for i := range 8 * len(m) {
		bad := m
		bad[i/8] ^= 1 << (i % 8)
		check(s.Key(), digest, bad, "mark", i)
	}
	for i := 0; i < 256; i += 3 {
		key, other := s.Key(), digest
		key[i/8] ^= 1 << (i % 8)
		other[i/8] ^= 1 << (i % 8)
		check(key, digest, m, "key", i)
		check(s.Key(), other, m, "digest", i)
	}
}

func TestNewSignerRefuses(t *testing.T) {
	var n [32]byte
	orderN.FillBytes(n[:])
	for _, secret := range [][32]byte{{}, n} {
		if _, err := NewSigner(secret); err == nil {
			t.Errorf("secret %x: no error", secret)
		}
	}
}

func TestVerifySeal(t *testing.T) {
	blob, err := record.BuildBlob(nil, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	plex, err := record.BuildPlex(nil, record.Coordinates{Group: "g", App: "a", Name: "n", TAI: record.FormatTAI(1, 2)}, nil, blob)
	if err != nil {
		t.Fatal(err)
	}
	s := signer(t, [32]byte{31: 7})
	m, err := s.Sign(plex.Hash(), [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	seal, err := record.BuildSeal(nil, plex, s.Key(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifySeal(seal); err != nil {
		t.Error(err)
	}
	m[63] ^= 1
	bad, err := record.BuildSeal(nil, plex, s.Key(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifySeal(bad); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad mark: %v", err)
	}
	if err := VerifySeal(plex); err == nil {
		t.Error("a Plex was verified")
	}
}

func BenchmarkVerify(b *testing.B) {
	s := signer(b, [32]byte{31: 7})
	plex := plexHash("message")
	m, err := s.Sign(plex, [32]byte{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := Verify(s.Key(), plex, m); err != nil {
			b.Fatal(err)
		}
	}
}
