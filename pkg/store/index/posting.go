package index

import (
	"sort"

	"github.com/lace-store/lace/pkg/store"
)

// Ids are kept in chunks of 2^16: the low halves of the ids of one chunk side
// by side, two bytes each, and seeking stays a search in a flat array. Over
// 2^20 ids of any density a seek takes 5 to 13 ns, as with plain 32-bit words
// of twice the size; roaring bitmaps take 11 to 16 ns, and less memory only
// where more than one record in eight is listed. Matching the record behind a
// candidate costs far more than either.
const (
	chunkBits = 16
	chunkMask = 1<<chunkBits - 1
)

type chunk struct {
	high uint64 // id >> chunkBits
	low  []uint16
}

// chunkBytes is what a chunk costs besides its ids.
const chunkBytes = 32

// Posting is the list of one key: strictly increasing record ids, complete
// through the position CheckedThrough. The zero Posting is empty and covers
// nothing. It takes about two bytes an id.
type Posting struct {
	chunks  []chunk
	count   uint64
	last    store.RecordID
	checked store.Position
	bytes   int64
}

// Len returns the number of ids.
func (p *Posting) Len() uint64 { return p.count }

// CheckedThrough returns the position up to which the list is complete.
func (p *Posting) CheckedThrough() store.Position { return p.checked }

// Bytes returns the memory that the list takes, roughly, in bytes.
func (p *Posting) Bytes() int64 { return p.bytes }

// Append adds an id, which must be greater than every id of the list and than
// CheckedThrough; anything else is a bug of the caller and panics.
func (p *Posting) Append(id store.RecordID) {
	if id <= p.last || store.Position(id) <= p.checked {
		panic("index: posting ids must increase")
	}
	high := uint64(id) >> chunkBits
	if n := len(p.chunks); n == 0 || p.chunks[n-1].high != high {
		p.chunks = append(p.chunks, chunk{high: high})
		p.bytes += chunkBytes
	}
	c := &p.chunks[len(p.chunks)-1]
	before := cap(c.low)
	c.low = append(c.low, uint16(id&chunkMask))
	p.bytes += int64(cap(c.low)-before) * 2
	p.last = id
	p.count++
}

// Cover states that every record through pos was examined. It never lowers
// the sentinel.
func (p *Posting) Cover(pos store.Position) {
	if pos < store.Position(p.last) {
		panic("index: posting covers less than it holds")
	}
	p.checked = max(p.checked, pos)
}

// Clone returns a list that can grow while p and its cursors stay as they are.
func (p *Posting) Clone() *Posting {
	c := *p
	c.chunks = append([]chunk(nil), p.chunks...)
	for i := range c.chunks {
		// Without a clipped capacity both lists would append into one array.
		n := len(c.chunks[i].low)
		c.chunks[i].low = c.chunks[i].low[:n:n]
	}
	return &c
}

// Each calls yield with every id in increasing order until it returns false.
func (p *Posting) Each(yield func(store.RecordID) bool) {
	for _, c := range p.chunks {
		for _, low := range c.low {
			if !yield(store.RecordID(c.high<<chunkBits | uint64(low))) {
				return
			}
		}
	}
}

// rank returns the number of ids in (0, pos].
func (p *Posting) rank(pos store.Position) uint64 {
	if pos >= store.Position(p.last) {
		return p.count
	}
	high := uint64(pos) >> chunkBits
	var n uint64
	for _, c := range p.chunks {
		if c.high > high {
			break
		}
		if c.high == high {
			low := uint16(pos & chunkMask)
			n += uint64(sort.Search(len(c.low), func(i int) bool { return c.low[i] > low }))
			break
		}
		n += uint64(len(c.low))
	}
	return n
}

// Candidates returns a walk over the ids in (lo, hi].
func (p *Posting) Candidates(lo, hi store.Position) Candidates {
	return &postingCursor{
		chunks: p.chunks,
		hi:     hi,
		count:  p.rank(hi) - p.rank(lo),
	}
}

// postingCursor walks a list forwards. It holds the chunks as they were when
// it was made; ids appended later lie above its bound.
type postingCursor struct {
	chunks []chunk
	at     int // index within chunks[0].low of the last answer
	hi     store.Position
	count  uint64
}

func (c *postingCursor) Count() uint64 { return c.count }

func (c *postingCursor) SeekGE(id store.RecordID) (store.RecordID, error) {
	high := uint64(id) >> chunkBits
	if len(c.chunks) > 0 && c.chunks[0].high < high {
		skip := sort.Search(len(c.chunks), func(i int) bool { return c.chunks[i].high >= high })
		c.chunks, c.at = c.chunks[skip:], 0
	}
	if len(c.chunks) > 0 && c.chunks[0].high == high {
		c.at = seekLow(c.chunks[0].low, c.at, uint16(id&chunkMask))
		if c.at == len(c.chunks[0].low) {
			c.chunks, c.at = c.chunks[1:], 0
		}
	}
	if len(c.chunks) == 0 {
		return 0, nil
	}
	found := store.RecordID(c.chunks[0].high<<chunkBits | uint64(c.chunks[0].low[c.at]))
	if store.Position(found) > c.hi {
		return 0, nil
	}
	return found, nil
}

// seekLow returns the first index from at on whose id is at least low. It
// gallops, since most seeks go to a neighbour.
func seekLow(ids []uint16, at int, low uint16) int {
	step := 1
	for at+step < len(ids) && ids[at+step] < low {
		at += step
		step *= 2
	}
	end := min(at+step+1, len(ids))
	for at < end {
		mid := int(uint(at+end) / 2)
		if ids[mid] < low {
			at = mid + 1
		} else {
			end = mid
		}
	}
	return at
}
