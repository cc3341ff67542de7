package eval

import "github.com/lace-store/lace/pkg/store"

// value is one interned argument. A record that is held at the boundary is its
// id; any other text is textBit and its number in the text table. Two
// arguments are equal exactly when their values are.
type value uint64

const textBit value = 1 << 63

// isRecord reports whether v is a record that is held.
func (v value) isRecord() bool { return v&textBit == 0 }

// id returns the id of a record.
func (v value) id() store.RecordID { return store.RecordID(v) }

// block is up to one block of bindings: rows of one value per slot of a rule.
// A slot that nothing has bound yet holds an arbitrary value.
type block struct {
	width int
	n     int
	rows  []value
}

func (b *block) row(i int) []value { return b.rows[i*b.width : (i+1)*b.width : (i+1)*b.width] }

// add appends a copy of a row and returns it for filling in. A nil row stands
// for any.
func (b *block) add(row []value) []value {
	at := b.n * b.width
	b.n++
	if at+b.width > len(b.rows) {
		b.rows = append(b.rows[:at], make([]value, b.width)...)
	}
	fresh := b.rows[at : at+b.width : at+b.width]
	copy(fresh, row)
	return fresh
}

// keep moves row i to place n, which is at most i.
func (b *block) keep(n, i int) {
	if n != i {
		copy(b.row(n), b.row(i))
	}
}

// reset empties the block.
func (b *block) reset() { b.n = 0 }
