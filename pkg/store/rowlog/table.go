package rowlog

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Rows live in pages of encoded rows, so that a table of any size costs no
// heap object per row and never copies itself when it grows.
const (
	pageRows  = 1 << 14
	pageBytes = pageRows * RowLen
)

// A slot of the hash index is an id in the low bits and some bits of the
// digest above them, which settle most misses without touching the row.
const (
	slotIDBits = 40
	slotIDMask = 1<<slotIDBits - 1
	minSlots   = 1 << 6
)

// MaxRows is the greatest number of rows a Table holds.
const MaxRows = slotIDMask

// Table is the resident row table: the committed rows in id order, and an
// index from hash to id. It takes 64 bytes a row and 8 bytes an index slot, at
// most three quarters of the slots in use. The zero Table is empty.
type Table struct {
	pages [][]byte
	count uint64
	end   uint64
	slots []uint64
}

// Position returns the number of rows, which is the high-water.
func (t *Table) Position() store.Position { return store.Position(t.count) }

// End returns the committed end: the first arena offset behind the last row.
func (t *Table) End() uint64 { return t.end }

// Row returns the row of id, which must be in [1, Position()].
func (t *Table) Row(id store.RecordID) Row {
	b := t.encoded(id)
	r := Row{Offset: binary.LittleEndian.Uint64(b[48:]), Len: binary.LittleEndian.Uint64(b[56:])}
	copy(r.Hash[:], b)
	return r
}

// Hash returns the hash of id, which must be in [1, Position()].
func (t *Table) Hash(id store.RecordID) record.Hash {
	return record.Hash(t.encoded(id)[:record.HashLen])
}

func (t *Table) encoded(id store.RecordID) []byte {
	i := uint64(id) - 1
	if i >= t.count {
		panic(fmt.Sprintf("rowlog: row of id %d in a table of %d", id, t.count))
	}
	at := i % pageRows * RowLen
	return t.pages[i/pageRows][at : at+RowLen : at+RowLen]
}

// Lookup returns the id of the record with that hash.
func (t *Table) Lookup(h record.Hash) (store.RecordID, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	_, id := t.find(h)
	return id, id != 0
}

// Digest returns the BLAKE3 of the encoded rows of the ids (0, through], which
// is what record-log begins with. It identifies a root, as far as that record.
// through must be at most Position.
func (t *Table) Digest(through store.Position) [32]byte {
	if through > t.Position() {
		panic(fmt.Sprintf("rowlog: digest of %d rows of a table of %d", through, t.count))
	}
	h := blake3.New()
	for left, page := uint64(through)*RowLen, 0; left > 0; page++ {
		rows := t.pages[page][:min(left, pageBytes)]
		h.Write(rows) // a hash never fails to take bytes
		left -= uint64(len(rows))
	}
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

// find returns the slot that holds h, or the empty slot where it belongs and
// id zero.
func (t *Table) find(h record.Hash) (slot uint64, id store.RecordID) {
	mask := uint64(len(t.slots) - 1)
	sum := slotSum(h)
	tag := sum &^ slotIDMask
	for slot = sum & mask; ; slot = (slot + 1) & mask {
		s := t.slots[slot]
		if s == 0 {
			return slot, 0
		}
		if s&^slotIDMask == tag && string(t.encoded(store.RecordID(s & slotIDMask))[:record.HashLen]) == string(h[:]) {
			return slot, store.RecordID(s & slotIDMask)
		}
	}
}

// slotSum mixes twenty-four characters of the digest text, which are as good
// as random unless someone grinds records to collide; the multiplications
// spread their low bits over the word.
func slotSum(h record.Hash) uint64 {
	const odd = 0x9e3779b97f4a7c15
	a := binary.LittleEndian.Uint64(h[2:])
	b := binary.LittleEndian.Uint64(h[18:])
	c := binary.LittleEndian.Uint64(h[34:])
	x := ((a*odd^a>>29)+b)*odd ^ (c * 0xd6e8feb86659fd93)
	x ^= x >> 32
	return x * odd
}

// Append adds the next row. It rejects a row that does not start at End, that
// does not validate, or whose hash is in the table already; the table is then
// unchanged. The error says which rule was broken.
func (t *Table) Append(r Row) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if r.Offset != t.end {
		return fmt.Errorf("row of %s starts at offset %d, want %d, the end of the row before it", r.Hash, r.Offset, t.end)
	}
	if t.count >= MaxRows {
		return fmt.Errorf("record-log has more than %d rows", uint64(MaxRows))
	}
	if (t.count+1)*4 > uint64(len(t.slots))*3 {
		t.grow()
	}
	slot, id := t.find(r.Hash)
	if id != 0 {
		return fmt.Errorf("row of %s repeats the hash of record #%d", r.Hash, id)
	}
	if t.count%pageRows == 0 {
		t.pages = append(t.pages, make([]byte, 0, t.nextPageCap()))
	}
	last := len(t.pages) - 1
	t.pages[last] = r.AppendTo(t.pages[last])
	t.count++
	t.end = r.End()
	t.slots[slot] = slotSum(r.Hash)&^slotIDMask | t.count
	return nil
}

// nextPageCap keeps small tables small: the first page grows by appending.
func (t *Table) nextPageCap() int {
	if t.count == 0 {
		return minSlots * RowLen
	}
	return pageBytes
}

func (t *Table) grow() {
	old := t.slots
	t.slots = make([]uint64, max(minSlots, len(old)*2))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := slotSum(t.Hash(store.RecordID(s&slotIDMask))) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
}
