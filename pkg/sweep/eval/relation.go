package eval

import (
	"math/bits"
	"sync"
)

// chunkRows is how many rows a full chunk of a relation holds. Chunks are
// never moved, so that a relation grows without copies.
const (
	chunkShift = 12
	chunkRows  = 1 << chunkShift
)

// relation is a set of tuples of one arity, in the order of their derivation.
// Once it is complete, an evaluator and its forks may read it side by side.
type relation struct {
	name   string
	arity  int
	n      int
	chunks [][]value
	slots  []uint32 // hash table of row+1; 0 is free

	indexing sync.Mutex // guards indexes, which are made as they are needed
	indexes  []*columnIndex
}

func newRelation(name string, arity int) *relation { return &relation{name: name, arity: arity} }

// len returns the number of tuples.
func (r *relation) len() int { return r.n }

// row returns tuple i, which must not be changed.
func (r *relation) row(i int) []value {
	at := (i & (chunkRows - 1)) * r.arity
	return r.chunks[i>>chunkShift][at : at+r.arity : at+r.arity]
}

// add puts a tuple into the relation and reports whether it is new.
func (r *relation) add(tuple []value) bool {
	if (r.n+1)*4 > len(r.slots)*3 {
		r.grow()
	}
	at, found := r.probe(tuple)
	if found {
		return false
	}
	c := r.n >> chunkShift
	if c == len(r.chunks) {
		var fresh []value
		if c > 0 {
			fresh = make([]value, 0, chunkRows*r.arity)
		}
		r.chunks = append(r.chunks, fresh)
	}
	r.chunks[c] = append(r.chunks[c], tuple...)
	r.n++
	r.slots[at] = uint32(r.n)
	return true
}

// has reports whether a tuple is in the relation.
func (r *relation) has(tuple []value) bool { return r.find(tuple) >= 0 }

// find returns the number of a tuple, negative when it is not there.
func (r *relation) find(tuple []value) int {
	if r.n == 0 {
		return -1
	}
	at, _ := r.probe(tuple)
	return int(r.slots[at]) - 1
}

func (r *relation) probe(tuple []value) (slot uint64, found bool) {
	mask := uint64(len(r.slots) - 1)
	for at := hashValues(tuple) & mask; ; at = (at + 1) & mask {
		n := r.slots[at]
		if n == 0 {
			return at, false
		}
		if equalValues(r.row(int(n-1)), tuple) {
			return at, true
		}
	}
}

func (r *relation) grow() {
	r.slots = make([]uint32, max(16, 2*len(r.slots)))
	mask := uint64(len(r.slots) - 1)
	for i := range r.n {
		at := hashValues(r.row(i)) & mask
		for r.slots[at] != 0 {
			at = (at + 1) & mask
		}
		r.slots[at] = uint32(i + 1)
	}
}

func hashValues(tuple []value) uint64 {
	h := uint64(len(tuple))
	for _, v := range tuple {
		h = mix(h, v)
	}
	return h ^ h>>32
}

func mix(h uint64, v value) uint64 {
	return bits.RotateLeft64(h^uint64(v), 29) * 0x9E37_79B9_7F4A_7C15
}

func equalValues(a, b []value) bool {
	for i, v := range a {
		if v != b[i] {
			return false
		}
	}
	return true
}
