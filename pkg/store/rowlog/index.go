package rowlog

import (
	"encoding/binary"
	"math/bits"

	"github.com/lace-store/lace/pkg/store"
)

// hashIndex finds the id of a key. A slot is zero, or an id in its low idBits
// and some bits of the key's sum above them, which settle most misses without
// touching the row. Slots are searched from the place of the sum upwards, up to
// a free one.
type hashIndex struct {
	slots  []uint32
	idBits int
}

const minSlots = 64

// slotsFor is so many slots that two thirds of them are in use, and a few.
func slotsFor(rows uint64) uint64 { return rows + rows/2 + minSlots }

// mostRows is the number of rows that so many slots serve: three quarters.
func mostRows(slots uint64) uint64 { return slots / 4 * 3 }

// reserve makes an empty index with room for so many rows and some more.
func (x *hashIndex) reserve(rows uint64) {
	x.slots = nil // two of them need not be alive at a time
	x.slots = make([]uint32, slotsFor(rows))
	x.idBits = bits.Len64(mostRows(uint64(len(x.slots))))
}

// find returns the id of the row with that key, or zero.
func (x *hashIndex) find(rows *packed, k *key) store.RecordID {
	if len(x.slots) == 0 {
		return 0
	}
	_, id := x.search(rows, k)
	return id
}

// insert adds the key of a row, unless a row with that key is there already:
// then it returns the id of that row.
func (x *hashIndex) insert(rows *packed, k *key, id store.RecordID) store.RecordID {
	at, there := x.search(rows, k)
	if there == 0 {
		x.slots[at] = x.tag(sum(k)) | uint32(id)
	}
	return there
}

// add adds the key of the newest row, which no row before it has.
func (x *hashIndex) add(rows *packed, k *key) {
	if rows.count <= mostRows(uint64(len(x.slots))) {
		x.insert(rows, k, store.RecordID(rows.count))
		return
	}
	x.reserve(rows.count)
	for i := range rows.count {
		k := rows.key(i)
		x.insert(rows, &k, ID(i))
	}
}

// search returns the slot of the key with its id, or the free slot where the
// key belongs and zero.
func (x *hashIndex) search(rows *packed, k *key) (slot uint64, id store.RecordID) {
	s := sum(k)
	tag, idMask := x.tag(s), uint32(1)<<x.idBits-1
	slot, _ = bits.Mul64(s, uint64(len(x.slots)))
	for {
		found := x.slots[slot]
		if found == 0 {
			return slot, 0
		}
		if found&^idMask == tag && rows.has(uint64(found&idMask)-1, k) {
			return slot, store.RecordID(found & idMask)
		}
		if slot++; slot == uint64(len(x.slots)) {
			slot = 0
		}
	}
}

// tag is the bits of a sum that stand above an id. The high bits of the sum
// have chosen the slot, so it takes low ones.
func (x *hashIndex) tag(sum uint64) uint32 { return uint32(sum << x.idBits) }

// sum mixes the digest, which is as good as random unless someone grinds
// records to collide; the multiplications spread what little such digests
// differ in over the word.
func sum(k *key) uint64 {
	const odd = 0x9e3779b97f4a7c15
	a := binary.LittleEndian.Uint64(k.digest[0:])
	b := binary.LittleEndian.Uint64(k.digest[8:])
	c := binary.LittleEndian.Uint64(k.digest[16:])
	d := binary.LittleEndian.Uint64(k.digest[24:])
	x := ((a*odd^a>>29)+b)*odd ^ (c^bits.RotateLeft64(d, 23))*0xd6e8feb86659fd93
	x ^= x >> 32
	x *= odd
	return x ^ x>>29
}
