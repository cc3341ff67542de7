package eval

import "slices"

// columnIndex finds the tuples with given values in some columns. The tuples
// of a bucket are chained, latest first. It takes 8 bytes a tuple.
type columnIndex struct {
	rel     *relation
	columns []int
	heads   []uint32 // row+1
	next    []uint32 // of each indexed row: row+1 of the one before
}

// index returns the index over the columns, brought up to date. Tuples that
// are added later are not in it until it is asked for again; whoever walks it
// meanwhile sees what it saw.
func (r *relation) index(columns []int) *columnIndex {
	r.indexing.Lock()
	defer r.indexing.Unlock()
	for _, x := range r.indexes {
		if slices.Equal(x.columns, columns) {
			x.update()
			return x
		}
	}
	x := &columnIndex{rel: r, columns: columns, heads: make([]uint32, 16)}
	r.indexes = append(r.indexes, x)
	x.update()
	return x
}

func (x *columnIndex) update() {
	if x.rel.n > len(x.heads) {
		size := len(x.heads)
		for size < x.rel.n {
			size *= 2
		}
		x.heads, x.next = make([]uint32, size), slices.Grow(x.next[:0], x.rel.n)
	}
	for i := len(x.next); i < x.rel.n; i++ {
		tuple, h := x.rel.row(i), uint64(0)
		for _, c := range x.columns {
			h = mix(h, tuple[c])
		}
		head := x.bucket(h)
		x.next = append(x.next, *head)
		*head = uint32(i + 1)
	}
}

func (x *columnIndex) bucket(h uint64) *uint32 {
	return &x.heads[(h^h>>32)&uint64(len(x.heads)-1)]
}

// first returns the latest tuple with the key in the columns, as row+1; zero
// when there is none.
func (x *columnIndex) first(key []value) uint32 {
	h := uint64(0)
	for _, v := range key {
		h = mix(h, v)
	}
	return x.match(*x.bucket(h), key)
}

// after returns the tuple with the same key before row n-1, as row+1.
func (x *columnIndex) after(n uint32, key []value) uint32 { return x.match(x.next[n-1], key) }

func (x *columnIndex) match(n uint32, key []value) uint32 {
	for ; n != 0; n = x.next[n-1] {
		tuple := x.rel.row(int(n - 1))
		same := true
		for i, c := range x.columns {
			same = same && tuple[c] == key[i]
		}
		if same {
			return n
		}
	}
	return 0
}
