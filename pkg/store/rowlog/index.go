package rowlog

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

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
	x.build(rows, 1)
}

// build makes the index of all rows. Each worker has a part of the slots and
// takes the rows whose place is in it. It returns the first row, by index, whose
// key a row before it has, and the id of that one, or zero; then the index is of
// no use.
func (x *hashIndex) build(rows *packed, workers int) (index uint64, id store.RecordID) {
	x.reserve(rows.count)
	builders := make([]builder, max(1, min(uint64(workers), rows.count/leastBlock)))
	var group sync.WaitGroup
	for i := range builders {
		b := &builders[i]
		b.from = uint64(i) * uint64(len(x.slots)) / uint64(len(builders))
		b.to = uint64(i+1) * uint64(len(x.slots)) / uint64(len(builders))
		group.Go(func() { b.run(x, rows) })
	}
	group.Wait()
	index = rows.count
	var pushed []uint64
	for _, b := range builders {
		if b.id != 0 && b.index < index {
			index, id = b.index, b.id
		}
		pushed = append(pushed, b.pushed...)
	}
	// Few rows find their part full up to its end. Those with equal keys do so
	// together, and are told apart here.
	slices.Sort(pushed)
	for _, i := range pushed {
		if i >= index {
			break
		}
		k := rows.key(i)
		if there := x.insert(rows, &k, ID(i)); there != 0 {
			return i, there
		}
	}
	return index, id
}

// builder fills the slots [from, to).
type builder struct {
	from, to uint64
	pushed   []uint64       // rows for which there was no slot left up to the end
	index    uint64         // of the first row that repeats a key
	id       store.RecordID // of the row that it repeats, or zero
	touched  uint32         // of no meaning; it keeps the reading of slots alive
}

// batchRows is how many rows a builder looks up at a time. It takes their slots
// into the caches at once first: waiting for one slot after the other would be
// most of its time.
const batchRows = 32

// waiting is a row of a batch.
type waiting struct{ index, sum, home uint64 }

func (b *builder) run(x *hashIndex, rows *packed) {
	batch := make([]waiting, 0, batchRows)
	for i := range rows.count {
		g, in := rows.at(i)
		s := sum(&key{digest: g.digests[in]})
		home := x.home(s)
		if home < b.from || home >= b.to {
			continue
		}
		if batch = append(batch, waiting{i, s, home}); len(batch) == cap(batch) {
			if !b.insert(x, rows, batch) {
				return
			}
			batch = batch[:0]
		}
	}
	b.insert(x, rows, batch)
}

// insert adds rows, and reports whether none of them repeats a key.
func (b *builder) insert(x *hashIndex, rows *packed, batch []waiting) bool {
	for _, w := range batch {
		b.touched |= x.slots[w.home]
	}
	for _, w := range batch {
		k := rows.key(w.index)
		slot, id := x.probe(rows, &k, w.sum, w.home, b.to)
		switch {
		case id != 0:
			b.index, b.id = w.index, id
			return false
		case slot == b.to:
			b.pushed = append(b.pushed, w.index)
		default:
			x.slots[slot] = x.tag(w.sum) | uint32(ID(w.index))
		}
	}
	return true
}

// search returns the slot of the key with its id, or the free slot where the
// key belongs and zero.
func (x *hashIndex) search(rows *packed, k *key) (slot uint64, id store.RecordID) {
	s := sum(k)
	slot, id = x.probe(rows, k, s, x.home(s), uint64(len(x.slots)))
	if slot == uint64(len(x.slots)) {
		slot, id = x.probe(rows, k, s, 0, slot)
	}
	return slot, id
}

// home is the slot where the search for a sum begins.
func (x *hashIndex) home(sum uint64) uint64 {
	slot, _ := bits.Mul64(sum, uint64(len(x.slots)))
	return slot
}

// probe searches the slots [slot, end) for the key. It returns the slot of the
// key with its id, or the first free slot and zero, or end and zero.
func (x *hashIndex) probe(rows *packed, k *key, s, slot, end uint64) (at uint64, id store.RecordID) {
	tag, idMask := x.tag(s), uint32(1)<<x.idBits-1
	for ; slot < end; slot++ {
		found := x.slots[slot]
		if found == 0 {
			return slot, 0
		}
		if found&^idMask == tag && rows.has(uint64(found&idMask)-1, k) {
			return slot, store.RecordID(found & idMask)
		}
	}
	return end, 0
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
