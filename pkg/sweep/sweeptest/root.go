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
	textValues = []string{"a", "ab", "abc", "b", "é", "o'k \\ x"}
	// Some are numbers only for those who do not look closely.
	numbers = []string{"0", "1", "2", "10", "9", "18446744073709551616", "18446744073709551615", "01", "+1", "-0", "1e1", "٣"}
)

// linkData are data of links: a number, a text, several words, a hash itself.
func linkData() []string { return []string{"", "1", "x", "a", "x y", AbsentHash(0)} }

// nearHashes are no typed hashes: of no kind, too short, with bits behind the
// digest.
func nearHashes() []string {
	h := AbsentHash(1)
	return []string{"V" + h[1:], h[:47], h[:44] + "1.H3"}
}

// RandomRoot returns a root of up to n records that refer to each other: to
// earlier ones, to later ones' contents, and to records that are not held.
func RandomRoot(rng *rand.Rand, n int) *Root {
	r := &Root{}
	for i := range 1 + rng.IntN(n) {
		switch rng.IntN(8) {
		case 0:
			r.Add(MakeBlob(fmt.Sprint(rng.IntN(4))))
		case 1:
			r.Add(MakeSeal(r.randomPlex(rng, i), byte(rng.IntN(2))))
		case 2:
			// What a Seal contains may be held by itself, before or after it.
			plex := r.randomPlex(rng, i)
			held := []record.View{plex, MakeSeal(plex, 1)}
			if blob, ok := plex.Blob(); ok && rng.IntN(2) == 0 {
				held = append(held, blob)
			}
			rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
			for _, v := range held {
				r.Add(v)
			}
		default:
			r.Add(r.randomPlex(rng, i))
		}
	}
	return r
}

// randomPlex has few names, times and contents, so that those meet, too.
func (r *Root) randomPlex(rng *rand.Rand, i int) record.View {
	var headers []record.Header
	for range rng.IntN(5) {
		h := record.Header{Name: pick(rng, fieldNames), Value: pick(rng, textValues)}
		switch rng.IntN(10) {
		case 0, 1, 2:
		case 3, 4:
			h = record.Header{Name: "N", Value: pick(rng, numbers)}
		case 5:
			h.Value = pick(rng, append(nearHashes(), r.randomHash(rng)))
		default:
			h = record.Header{Name: pick(rng, linkNames), Value: r.randomHash(rng)}
			if data := pick(rng, linkData()); data != "" {
				h.Value = data + " " + h.Value
			}
		}
		headers = append(headers, h)
	}
	at := record.Coordinates{Group: pick(rng, []string{"g", "a"}), App: "sweeptest", Name: fmt.Sprint(i), TAI: record.FormatTAI(1_700_000_000+rng.Uint64N(3), 0)}
	return must(record.BuildPlex(nil, at, headers, MakeBlob(fmt.Sprint(rng.IntN(4)))))
}

// randomHash is mostly that of a held record.
func (r *Root) randomHash(rng *rand.Rand) string {
	if len(r.Records) > 0 && rng.IntN(6) > 0 {
		return r.Hash(1 + rng.IntN(len(r.Records)))
	}
	return AbsentHash(rng.IntN(2))
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
