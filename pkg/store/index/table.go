package index

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/lace-store/lace/pkg/store"
)

// valueTable narrows every value of one field (or every data of one link name,
// or every link target) at once: sorted words, the upper half a hash of the
// value, the lower half the id of a record that has it. Two values may share a
// hash; the record matcher settles that. It takes eight bytes an occurrence.
//
// Segments cover adjacent id ranges in increasing order, so that the table can
// be extended without sorting it anew.
type valueTable struct {
	segments [][]uint64
	through  store.Position
	values   int    // values asked for
	tick     uint64 // the last query that asked for one
	bytes    int64
	refused  bool
}

// wanted reports whether the table is worth having.
func (t *valueTable) wanted() bool { return t.values >= hotAfter && !t.refused }

// tableKey returns what identifies the table that k belongs to.
func tableKey(k Key) (Key, bool) {
	switch k.Shape {
	case store.FieldExact, store.LinkTarget, store.LinkNameData:
		return Key{Shape: k.Shape, Name: k.Name}, true
	}
	return Key{}, false
}

// tableOf returns the table of a key, nil when keys of its shape have none.
// An opening that publishes builds lists instead, which outlive it.
func (c *Cache) tableOf(k Key) *valueTable {
	tk, ok := tableKey(k)
	if !ok || c.opts.Publish {
		return nil
	}
	t := c.tables[tk]
	if t == nil {
		if len(c.tables) >= c.opts.Keys {
			return nil
		}
		t = &valueTable{}
		c.tables[tk] = t
	}
	return t
}

// dropTable frees the words of a table; what was asked for stays counted.
func (c *Cache) dropTable(k Key, t *valueTable) {
	if t.bytes == 0 {
		return
	}
	c.bytes -= t.bytes
	c.tables[k] = &valueTable{}
	c.stats.ListsEvicted++
}

// The upper half of the words of a value.

func hashString(seed maphash.Seed, value string) uint64 {
	return maphash.String(seed, value) &^ math.MaxUint32
}

func hashBytes(seed maphash.Seed, value []byte) uint64 {
	return maphash.Bytes(seed, value) &^ math.MaxUint32
}

// extend adds the words of the records in (through, pos] and merges segments
// so that their number stays logarithmic.
func (t *valueTable) extend(words []uint64, pos store.Position) {
	t.through = pos
	if len(words) > 0 {
		slices.Sort(words)
		t.segments = append(t.segments, slices.Compact(words))
	}
	for n := len(t.segments); n >= 2 && len(t.segments[n-1]) >= len(t.segments[n-2])/2; n = len(t.segments) {
		merged := slices.Concat(t.segments[n-2], t.segments[n-1])
		slices.Sort(merged)
		t.segments = append(t.segments[:n-2:n-2], merged)
	}
	t.bytes = 0
	for _, s := range t.segments {
		t.bytes += int64(cap(s)) * 8
	}
}

// candidates returns a walk over the records in (lo, hi] that have a value of
// that hash.
func (t *valueTable) candidates(hash uint64, lo, hi store.Position) Candidates {
	walk := &tableCursor{}
	for _, words := range t.segments {
		from, _ := slices.BinarySearch(words, hash|uint64(lo)+1)
		run := words[from:]
		to, _ := slices.BinarySearch(run, hash|uint64(hi)+1)
		if run = run[:to]; len(run) > 0 {
			walk.runs = append(walk.runs, run)
			walk.count += uint64(len(run))
		}
	}
	return walk
}

// tableCursor walks runs of words, each in id order and after the run before.
type tableCursor struct {
	runs  [][]uint64
	count uint64
}

func (c *tableCursor) Count() uint64 { return c.count }

func (c *tableCursor) SeekGE(id store.RecordID) (store.RecordID, error) {
	for len(c.runs) > 0 {
		run := c.runs[0]
		word := run[0]&^math.MaxUint32 | uint64(id)
		if uint64(id) > math.MaxUint32 {
			return 0, nil // tables hold no such ids
		}
		at := 0
		if run[0] < word {
			at, _ = slices.BinarySearch(run, word)
		}
		if at < len(run) {
			c.runs[0] = run[at:]
			return store.RecordID(run[at] & math.MaxUint32), nil
		}
		c.runs = c.runs[1:]
	}
	return 0, nil
}
