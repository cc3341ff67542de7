package rowlog

import (
	"iter"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Rows is the committed rows of a root, read forward only. A profile whose
// rows are not resident gives them from a cursor over its metadata.
type Rows interface {
	// Position is the number of rows, which is the high-water.
	Position() store.Position
	// End is the committed end: the first arena offset behind the last row, in
	// bytes.
	End() uint64
	// All yields the rows of the ids (0, Position()], each once and in order.
	// It can be called again, and yields the same rows then. An error is the
	// last thing it yields, and says of itself which root it is about.
	All() iter.Seq2[Row, error]
}

// Range is where a record lies: [Offset, Offset+Len) of the arena, in bytes.
type Range struct{ Offset, Len uint64 }

// End returns the first offset behind the record.
func (r Range) End() uint64 { return r.Offset + r.Len }

// Ranged is Rows that give their ranges without their hashes, which take longer
// to make than all the rest of a row. Table is; rows that come from a cursor are
// not.
type Ranged interface {
	// Ranges yields the ranges of the rows of All.
	Ranges() iter.Seq[Range]
	// Hash returns the hash of a row, which must be one of them.
	Hash(id store.RecordID) record.Hash
}

var _ Ranged = (*Table)(nil)

// Digested is Rows that give the digest of the first of them without being read
// through for it once more. Table is; rows that come from a cursor are not.
type Digested interface {
	Digest(through store.Position) [32]byte
}

var _ Digested = (*Table)(nil)

// digestBytes is how much a Digester hashes at a time: BLAKE3 is several times
// faster over many rows than over one.
const digestBytes = 1 << 10 * RowLen

// Digester hashes rows as they come: its sum is the BLAKE3 of what record-log
// begins with, which identifies a root as far as the last of these rows. The
// zero Digester has no rows.
type Digester struct {
	hasher *blake3.Hasher
	buf    []byte
}

// Add takes the next row.
func (d *Digester) Add(r Row) {
	if d.hasher == nil {
		d.hasher = blake3.New()
	}
	d.buf = r.AppendTo(d.buf)
	if len(d.buf) >= digestBytes {
		d.flush()
	}
}

func (d *Digester) flush() {
	d.hasher.Write(d.buf) // a hash never fails to take bytes
	d.buf = d.buf[:0]
}

// Sum returns the digest of the rows so far; more may follow.
func (d *Digester) Sum() [32]byte {
	if d.hasher == nil {
		d.hasher = blake3.New()
	}
	d.flush()
	var sum [32]byte
	d.hasher.Sum(sum[:0])
	return sum
}
