package rowlog

import (
	"fmt"
	"iter"
	"math"
	"sync/atomic"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// MaxRows is the greatest number of rows a Table holds.
const MaxRows = math.MaxUint32

// Table is the resident row table: the committed rows in id order, and an
// index from hash to id. It has no heap object per row; what it takes is in the
// package comment. The zero Table is empty.
type Table struct {
	rows packed
	ids  hashIndex
	end  uint64

	// digested is the last digest that was asked for: opening, planning and the
	// check of the plan ask for the same one.
	digested atomic.Pointer[digested]
}

// digested is a digest of the rows (0, through]. No row ever changes.
type digested struct {
	through store.Position
	sum     [32]byte
}

var _ Rows = (*Table)(nil)

// Position returns the number of rows, which is the high-water.
func (t *Table) Position() store.Position { return store.Position(t.rows.count) }

// End returns the committed end: the first arena offset behind the last row.
func (t *Table) End() uint64 { return t.end }

// Row returns the row of id, which must be in [1, Position()].
func (t *Table) Row(id store.RecordID) Row { return t.rows.row(t.index(id)) }

// Hash returns the hash of id, which must be in [1, Position()].
func (t *Table) Hash(id store.RecordID) record.Hash { return t.rows.hash(t.index(id)) }

func (t *Table) index(id store.RecordID) uint64 {
	i := uint64(id) - 1
	if i >= t.rows.count {
		panic(fmt.Sprintf("rowlog: row of id %d in a table of %d", id, t.rows.count))
	}
	return i
}

// All implements Rows. A resident table has no errors to yield.
func (t *Table) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		end := uint64(0)
		for i := range t.rows.count {
			g, in := t.rows.at(i)
			row := Row{Hash: g.hash(in), Offset: end, Len: t.rows.length(i, g.words[in])}
			if !yield(row, nil) {
				return
			}
			end = row.End()
		}
	}
}

// Ranges implements Ranged.
func (t *Table) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		end := uint64(0)
		for i := range t.rows.count {
			g, in := t.rows.at(i)
			r := Range{end, t.rows.length(i, g.words[in])}
			if !yield(r) {
				return
			}
			end = r.End()
		}
	}
}

// Lookup returns the id of the record with that hash.
func (t *Table) Lookup(h record.Hash) (store.RecordID, bool) {
	if !record.IsHash(h[:]) {
		return 0, false
	}
	k := makeKey(h)
	id := t.ids.find(&t.rows, &k)
	return id, id != 0
}

// Digest returns the BLAKE3 of the encoded rows of the ids (0, through], which
// is what record-log begins with. It identifies a root, as far as that record.
// through must be at most Position.
func (t *Table) Digest(through store.Position) [32]byte {
	if through > t.Position() {
		panic(fmt.Sprintf("rowlog: digest of %d rows of a table of %d", through, t.rows.count))
	}
	if known := t.digested.Load(); known != nil && known.through == through {
		return known.sum
	}
	var d Digester
	left := through
	for row := range t.All() {
		if left == 0 {
			break
		}
		d.Add(row)
		left--
	}
	sum := d.Sum()
	t.digested.Store(&digested{through, sum})
	return sum
}

// Append adds the next row. It rejects a row that does not start at End, that
// does not validate, or whose hash is in the table already; the table is then
// unchanged. The error says which rule was broken.
func (t *Table) Append(r Row) error {
	if err := t.check(r); err != nil {
		return err
	}
	if !record.IsHash(r.Hash[:]) {
		return fmt.Errorf("row of %q has no canonical hash", r.Hash[:])
	}
	k := makeKey(r.Hash)
	if id := t.ids.find(&t.rows, &k); id != 0 {
		return repeats(r.Hash, id)
	}
	t.push(r, &k)
	t.ids.add(&t.rows, &k)
	return nil
}

// check judges the next row by itself and by the one before it.
func (t *Table) check(r Row) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := follows(r, t.end); err != nil {
		return err
	}
	if t.rows.count >= MaxRows {
		return fmt.Errorf("record-log has more than %d rows", uint64(MaxRows))
	}
	return nil
}

// follows reports a row that does not begin at the end of the row before it.
func follows(r Row, end uint64) error {
	if r.Offset != end {
		return fmt.Errorf("row of %s starts at offset %d, want %d, the end of the row before it", r.Hash, r.Offset, end)
	}
	return nil
}

// push adds a row that check has passed, and leaves the index as it is.
func (t *Table) push(r Row, k *key) {
	t.rows.push(k, r.Offset, r.Len)
	t.end = r.End()
}

// indexAll makes the index of rows that were pushed. It stops at the first row
// whose hash a row before it has: from there on the table is cut off.
func (t *Table) indexAll(workers int) error {
	i, id := t.ids.build(&t.rows, workers)
	if id == 0 {
		return nil
	}
	k := t.rows.key(i)
	t.end = t.rows.row(i).Offset
	t.rows.cut(i)
	t.ids.build(&t.rows, workers) // without what follows the repetition
	return &RowError{i, repeats(k.hash(), id)}
}

func repeats(h record.Hash, id store.RecordID) error {
	return fmt.Errorf("row of %s repeats the hash of record #%d", h, id)
}
