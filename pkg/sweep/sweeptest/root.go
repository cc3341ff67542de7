package sweeptest

import (
	"fmt"
	"math/rand/v2"

	"github.com/lace-store/lace/pkg/store/record"
)

// Root is a list of distinct records in order of admission.
type Root struct {
	Records [][]byte
	hashes  map[record.Hash]bool
}

// Add admits a record unless it is there, and returns its hash text.
func (r *Root) Add(v record.View) string {
	if r.hashes == nil {
		r.hashes = map[record.Hash]bool{}
	}
	if !r.hashes[v.Hash()] {
		r.hashes[v.Hash()] = true
		r.Records = append(r.Records, v.Bytes())
	}
	return v.Hash().String()
}

// Hash returns the hash text of record n, one-based.
func (r *Root) Hash(n int) string { return string(r.Records[n-1][6:54]) }

// MakeBlob returns the Blob of some data.
func MakeBlob(data string) record.View { return must(record.BuildBlob(nil, []byte(data))) }

// MakePlex returns a Plex of that name with extra headers "Name: value", in
// the order of their names, around a Blob of its name.
func MakePlex(name string, headers ...record.Header) record.View {
	at := record.Coordinates{Group: "g", App: "sweeptest", Name: name, TAI: record.FormatTAI(1_700_000_000, 0)}
	return must(record.BuildPlex(nil, at, headers, MakeBlob("data of "+name)))
}

// MakeSeal returns a Seal of a Plex by verifier n. Its mark proves nothing.
func MakeSeal(plex record.View, n byte) record.View {
	return must(record.BuildSeal(nil, plex, record.VerifierKey{n}, record.Mark{n}))
}

// AbsentHash returns the hash text of a record that no root holds.
func AbsentHash(n int) string { return MakeBlob(fmt.Sprintf("absent %d", n)).Hash().String() }

func must(v record.View, err error) record.View {
	if err != nil {
		panic("sweeptest: " + err.Error())
	}
	return v
}

// The alphabets of random roots are small, so that facts meet.
var (
	fieldNames = []string{"A", "B", "N", "Topic"}
	linkNames  = []string{"Prev", "Ref"}
	textValues = []string{"a", "ab", "abc", "b", "é"}
	numbers    = []string{"0", "1", "2", "10", "18446744073709551616", "01"}
	linkData   = []string{"", "1", "x", "x y"}
)

// RandomRoot returns a root of up to n records that refer to each other: to
// earlier ones, to later ones' contents, and to records that are not held.
func RandomRoot(rng *rand.Rand, n int) *Root {
	r := &Root{}
	for i := range 1 + rng.IntN(n) {
		switch rng.IntN(8) {
		case 0:
			r.Add(MakeBlob(fmt.Sprintf("%d", rng.IntN(4))))
		case 1:
			r.Add(MakeSeal(r.randomPlex(rng, i), byte(rng.IntN(2))))
		case 2:
			// What a Seal contains may be held by itself, before or after it.
			plex := r.randomPlex(rng, i)
			seal := MakeSeal(plex, 1)
			if rng.IntN(2) == 0 {
				r.Add(plex)
				r.Add(seal)
			} else {
				r.Add(seal)
				r.Add(MakeBlob(fmt.Sprintf("data of %d", i)))
			}
		default:
			r.Add(r.randomPlex(rng, i))
		}
	}
	return r
}

func (r *Root) randomPlex(rng *rand.Rand, i int) record.View {
	var headers []record.Header
	for range rng.IntN(5) {
		switch rng.IntN(5) {
		case 0, 1:
			headers = append(headers, record.Header{Name: pick(rng, fieldNames), Value: pick(rng, textValues)})
		case 2:
			headers = append(headers, record.Header{Name: "N", Value: pick(rng, numbers)})
		default:
			value := r.randomHash(rng)
			if data := pick(rng, linkData); data != "" {
				value = data + " " + value
			}
			headers = append(headers, record.Header{Name: pick(rng, linkNames), Value: value})
		}
	}
	return MakePlex(fmt.Sprint(i), headers...)
}

// randomHash is mostly that of a held record.
func (r *Root) randomHash(rng *rand.Rand) string {
	if len(r.Records) > 0 && rng.IntN(6) > 0 {
		return r.Hash(1 + rng.IntN(len(r.Records)))
	}
	return AbsentHash(rng.IntN(2))
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
