package rowlog

import (
	"cmp"
	"slices"

	"github.com/lace-store/lace/pkg/store/record"
)

// groupRows is how many rows share one resident offset: that of a row between
// is found by adding up at most as many lengths.
const groupRows = 32

// Groups live in pages, so that a table of any size costs no heap object per
// row and never copies itself when it grows.
const (
	pageGroups = 1 << 10 // whole pages of the allocator
	pageRows   = pageGroups * groupRows
)

// group is some consecutive rows. All of a row lies close together, for a row
// that is asked for at random costs little but the waiting for memory.
type group struct {
	offset  uint64 // of the first row
	words   [groupRows]uint32
	digests [groupRows]record.Digest
}

// A word has the kind of a row in its two low bits and the length above them;
// the greatest length in it stands for any that does not fit.
const (
	kindBits = 2
	kindMask = 1<<kindBits - 1
	longWord = 1<<(32-kindBits) - 1
)

// kinds has the kinds in the order of their numbers in a word.
const kinds = string(record.Blob) + string(record.Plex) + string(record.Seal)

// key is what a hash text says, in two thirds of its bytes.
type key struct {
	digest record.Digest
	kind   uint32 // index in kinds
}

// makeKey takes a hash that was parsed.
func makeKey(h record.Hash) key {
	k := key{digest: h.Digest()}
	for int(k.kind) < len(kinds)-1 && kinds[k.kind] != h[0] {
		k.kind++
	}
	return k
}

func (k key) hash() record.Hash { return record.MakeHash(record.Kind(kinds[k.kind]), k.digest) }

// packed is rows without their index, addressed by zero-based index.
type packed struct {
	pages [][]group
	count uint64
	long  []longRow // ascending
}

// longRow is a row with a length that fits no word.
type longRow struct{ index, length uint64 }

func (p *packed) push(k *key, offset, length uint64) {
	p.extend(1)
	if p.put(p.count, k, offset, length) {
		p.long = append(p.long, longRow{p.count, length})
	}
	p.count++
}

// extend makes places for n more rows. It does not touch those of a new page: a
// first touch takes the system some time, which those who put rows there share.
func (p *packed) extend(n uint64) {
	for groups := (p.count + n + groupRows - 1) / groupRows; ; {
		last := len(p.pages) - 1
		if last >= 0 {
			page, want := p.pages[last], min(groups-uint64(last)*pageGroups, pageGroups)
			if want > uint64(cap(page)) {
				page = slices.Grow(page, int(want)-len(page))
			}
			p.pages[last] = page[:max(want, uint64(len(page)))]
		}
		have := uint64(len(p.pages)) * pageGroups
		if have >= groups {
			return
		}
		room := uint64(pageGroups)
		if last < 0 {
			room = min(room, groups) // small tables stay small: the first page grows
		}
		p.pages = append(p.pages, make([]group, 0, room))
	}
}

// put fills the place of row i, which was made, and reports whether its length
// belongs to the long ones.
func (p *packed) put(i uint64, k *key, offset, length uint64) (long bool) {
	g, in := p.at(i)
	if in == 0 {
		g.offset = offset
	}
	g.digests[in] = k.digest
	g.words[in] = uint32(min(length, longWord))<<kindBits | k.kind
	return length >= longWord
}

// at returns the group of row i and the place of the row in it.
func (p *packed) at(i uint64) (*group, int) {
	return &p.pages[i/pageRows][i%pageRows/groupRows], int(i % groupRows)
}

// cut forgets the rows from index n on.
func (p *packed) cut(n uint64) {
	p.pages = p.pages[:(n+pageRows-1)/pageRows]
	if in := n % pageRows; in > 0 {
		last := len(p.pages) - 1
		p.pages[last] = p.pages[last][:(in+groupRows-1)/groupRows]
	}
	for len(p.long) > 0 && p.long[len(p.long)-1].index >= n {
		p.long = p.long[:len(p.long)-1]
	}
	p.count = n
}

func (p *packed) hash(i uint64) record.Hash {
	g, in := p.at(i)
	return g.hash(in)
}

func (g *group) hash(in int) record.Hash {
	return record.MakeHash(record.Kind(kinds[g.words[in]&kindMask]), g.digests[in])
}

func (p *packed) key(i uint64) key {
	g, in := p.at(i)
	return key{g.digests[in], g.words[in] & kindMask}
}

// has reports whether row i has that key.
func (p *packed) has(i uint64, k *key) bool {
	g, in := p.at(i)
	return g.digests[in] == k.digest && g.words[in]&kindMask == k.kind
}

func (p *packed) row(i uint64) Row {
	g, in := p.at(i)
	offset := g.offset
	for j, word := range g.words[:in] {
		offset += p.length(i-uint64(in-j), word)
	}
	return Row{Hash: g.hash(in), Offset: offset, Len: p.length(i, g.words[in])}
}

// length returns the length of row i, which has that word.
func (p *packed) length(i uint64, word uint32) uint64 {
	if n := word >> kindBits; n != longWord {
		return uint64(n)
	}
	at, _ := slices.BinarySearchFunc(p.long, i, func(l longRow, i uint64) int { return cmp.Compare(l.index, i) })
	return p.long[at].length
}
