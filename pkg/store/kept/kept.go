// Package kept is the kept set: which records of a root a compaction retains.
// It is the only thing that crosses from the sweep to the physical side, and
// it knows neither policies nor bytes of records.
package kept

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
)

// Set is a bitmap over the ids (0, Boundary]. Bit id-1, least significant
// first, is id. It takes Boundary/8 bytes.
type Set struct {
	boundary store.Position
	words    []uint64
	count    uint64
}

// New returns the empty set over (0, boundary].
func New(boundary store.Position) *Set {
	return &Set{boundary: boundary, words: make([]uint64, (uint64(boundary)+63)/64)}
}

// Boundary returns the greatest id the set decides about.
func (s *Set) Boundary() store.Position { return s.boundary }

// Count returns how many ids are in the set.
func (s *Set) Count() uint64 { return s.count }

// Add puts id into the set. It panics for an id outside (0, Boundary], which
// is a bug of the caller.
func (s *Set) Add(id store.RecordID) {
	w, bit := s.at(id)
	if s.words[w]&bit == 0 {
		s.words[w] |= bit
		s.count++
	}
}

// Has reports whether id is in the set. It panics for an id outside (0,
// Boundary].
func (s *Set) Has(id store.RecordID) bool {
	w, bit := s.at(id)
	return s.words[w]&bit != 0
}

func (s *Set) at(id store.RecordID) (word int, bit uint64) {
	if id == 0 || store.Position(id) > s.boundary {
		panic(fmt.Sprintf("kept: id %d outside (0, %d]", id, s.boundary))
	}
	return int((id - 1) / 64), 1 << ((id - 1) % 64)
}

// Union adds every id of other, which must have the same boundary.
func (s *Set) Union(other *Set) {
	if other.boundary != s.boundary {
		panic(fmt.Sprintf("kept: union of boundaries %d and %d", s.boundary, other.boundary))
	}
	s.count = 0
	for i := range s.words {
		s.words[i] |= other.words[i]
		s.count += uint64(bits.OnesCount64(s.words[i]))
	}
}

// IDs yields the ids of the set in ascending order.
func (s *Set) IDs() iter.Seq[store.RecordID] {
	return func(yield func(store.RecordID) bool) {
		for i, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(store.RecordID(i*64 + bits.TrailingZeros64(w) + 1)) {
					return
				}
			}
		}
	}
}

// Digest identifies the set together with the root it was made for (design
// page compaction.md, kept_digest): BLAKE3 over the BLAKE3 of the first
// Boundary rows of the record-log, the boundary as little-endian u64, and the
// ceil(Boundary/8) bytes of the bitmap.
func (s *Set) Digest(rootLog [32]byte) [32]byte {
	h := blake3.New()
	h.Write(rootLog[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(s.boundary)))
	_ = s.writeBitmap(h) // a hash never fails to take bytes
	var out [32]byte
	h.Sum(out[:0])
	return out
}

// Bitmap returns the ceil(Boundary/8) bytes of the bitmap; padding bits are
// zero.
func (s *Set) Bitmap() []byte {
	b := make([]byte, 0, len(s.words)*8)
	for _, w := range s.words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b[:bitmapLen(s.boundary)]
}
