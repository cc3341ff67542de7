package eval

import (
	"encoding/binary"
	"hash/maphash"
)

// textChunk is the size in bytes of the chunks that texts lie in. A longer
// text has a chunk of its own.
const textChunk = 1 << 18

// texts interns text: equal bytes have equal numbers. Texts are never moved,
// so that views of them stay valid. It takes, besides the bytes, one or two
// bytes of length, 8 bytes of place and about 12 bytes of hash table a text.
//
// A fork has what its base has, which nobody changes meanwhile, and adds its
// own behind.
type texts struct {
	base   *texts // unless nil; it is no fork itself
	first  uint64 // texts of the base: the number of the first own one
	seed   maphash.Seed
	chunks [][]byte
	places []uint64 // chunk number, then offset in the lower 32 bits
	slots  []uint64 // upper half of the hash, then number+1; 0 is free
}

// textMark is a point that the table can be cut back to.
type textMark struct{ texts, chunks, used int }

func newTexts() texts { return texts{seed: maphash.MakeSeed()} }

// fork returns a table that has what t has.
func (t *texts) fork() texts { return texts{base: t, first: uint64(len(t.places)), seed: t.seed} }

// intern returns the value of a text, adding it when it is new.
func (t *texts) intern(text []byte) value {
	hash := maphash.Bytes(t.seed, text)
	if v, found := t.find(text, hash); found {
		return v
	}
	if len(t.places)*4 >= len(t.slots)*3 {
		t.grow()
	}
	slot, _ := t.probe(text, hash)
	t.append(text)
	t.slots[slot] = hash&^0xFFFF_FFFF | uint64(len(t.places))
	return t.valueAt(slot)
}

// lookup returns the value of a text that was interned.
func (t *texts) lookup(text []byte) (value, bool) { return t.find(text, maphash.Bytes(t.seed, text)) }

func (t *texts) find(text []byte, hash uint64) (value, bool) {
	if t.base != nil {
		if v, found := t.base.find(text, hash); found {
			return v, true
		}
	}
	if len(t.slots) == 0 {
		return 0, false
	}
	slot, found := t.probe(text, hash)
	return t.valueAt(slot), found
}

func (t *texts) valueAt(slot uint64) value {
	return textBit | value(t.first+t.slots[slot]&0xFFFF_FFFF-1)
}

// probe returns the slot of a text, or the free one where it belongs.
func (t *texts) probe(text []byte, hash uint64) (slot uint64, found bool) {
	mask := uint64(len(t.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 {
			return at, false
		}
		if (s^hash)>>32 == 0 && string(t.at(s&0xFFFF_FFFF-1)) == string(text) {
			return at, true
		}
	}
}

// text returns the bytes of an interned text. They must not be changed.
func (t *texts) text(v value) []byte {
	if n := uint64(v &^ textBit); n >= t.first {
		return t.at(n - t.first)
	}
	return t.base.text(v)
}

// at returns own text n.
func (t *texts) at(n uint64) []byte {
	place := t.places[n]
	b := t.chunks[place>>32][place&0xFFFF_FFFF:]
	size, head := binary.Uvarint(b)
	return b[head : uint64(head)+size : uint64(head)+size]
}

func (t *texts) append(text []byte) {
	need := len(text) + binary.MaxVarintLen64
	last := len(t.chunks) - 1
	if last < 0 || cap(t.chunks[last])-len(t.chunks[last]) < need {
		t.chunks = append(t.chunks, make([]byte, 0, max(need, t.chunkSize())))
		last++
	}
	b := t.chunks[last]
	t.places = append(t.places, uint64(last)<<32|uint64(len(b)))
	b = binary.AppendUvarint(b, uint64(len(text)))
	t.chunks[last] = append(b, text...)
}

// chunkSize starts small, for modules that intern next to nothing.
func (t *texts) chunkSize() int { return min(textChunk, 1<<10<<len(t.chunks)) }

// grow doubles the hash table. The lower half of a hash is not kept, so it is
// computed again.
func (t *texts) grow() {
	t.slots = make([]uint64, max(64, 2*len(t.slots)))
	t.fill()
}

func (t *texts) fill() {
	for n := range t.places {
		hash := maphash.Bytes(t.seed, t.at(uint64(n)))
		mask := uint64(len(t.slots) - 1)
		at := hash & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = hash&^0xFFFF_FFFF | uint64(n+1)
	}
}

// mark returns the present extent of the table.
func (t *texts) mark() textMark {
	m := textMark{texts: len(t.places), chunks: len(t.chunks)}
	if m.chunks > 0 {
		m.used = len(t.chunks[m.chunks-1])
	}
	return m
}

// cut forgets every text that was added after the mark; no value of one may
// be in use.
func (t *texts) cut(m textMark) {
	if len(t.places) == m.texts {
		return
	}
	t.places = t.places[:m.texts]
	clear(t.chunks[m.chunks:])
	t.chunks = t.chunks[:m.chunks]
	if m.chunks > 0 {
		// What lies behind is overwritten; views of it are no longer in use.
		t.chunks[m.chunks-1] = t.chunks[m.chunks-1][:m.used]
	}
	clear(t.slots)
	t.fill()
}
