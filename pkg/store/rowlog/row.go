// Package rowlog is the record-log: the append-order table from record id to
// hash and byte range, on disk and resident. It opens no files.
//
// A row is 64 bytes (seed 002):
//
//	offset  size  field
//	0       48    typed hash text, ASCII
//	48      8     record byte offset in records, little-endian u64
//	56      8     record byte length, little-endian u64
//
// Row i (zero-based) is the record of id i+1. The first offset is 0, each
// later one is the end of the row before it, and no length is zero.
//
// A resident row takes 42.25 bytes: 32 of its digest, 4 of its length and kind,
// a quarter of a byte of its offset (8 for 32 rows, the rest is added up from
// the lengths), and 6 of the index from hash to id, whose slots of 4 bytes are
// two thirds in use. Admissions fill the index up to three quarters; then it is
// made anew, half as large again as the rows.
package rowlog

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// RowLen is the size of a row, in bytes.
const RowLen = 64

// Row names one record and the range [Offset, Offset+Len) of its bytes.
type Row struct {
	Hash   record.Hash
	Offset uint64
	Len    uint64
}

// End returns the first offset behind the record. It is meaningful only for
// rows that passed Validate.
func (r Row) End() uint64 { return r.Offset + r.Len }

// AppendTo appends the 64 bytes of the row to dst.
func (r Row) AppendTo(dst []byte) []byte {
	dst = append(dst, r.Hash[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, r.Offset)
	return binary.LittleEndian.AppendUint64(dst, r.Len)
}

// Decode reads the row that src begins with and validates it.
func Decode(src []byte) (Row, error) {
	if len(src) < RowLen {
		return Row{}, fmt.Errorf("row has %d bytes, want %d", len(src), RowLen)
	}
	h, err := record.ParseHash(src[:record.HashLen])
	if err != nil {
		return Row{}, err
	}
	r := Row{
		Hash:   h,
		Offset: binary.LittleEndian.Uint64(src[48:]),
		Len:    binary.LittleEndian.Uint64(src[56:]),
	}
	return r, r.Validate()
}

// Validate checks what a row can be checked for by itself: a nonzero length
// and a range that fits a signed 64-bit file offset.
func (r Row) Validate() error {
	if r.Len == 0 {
		return fmt.Errorf("row of %s has length 0", r.Hash)
	}
	if r.Offset > math.MaxInt64 || r.Len > math.MaxInt64-r.Offset {
		return fmt.Errorf("row of %s has range %d+%d, which overflows", r.Hash, r.Offset, r.Len)
	}
	return nil
}

// ID returns the id of the zero-based row index.
func ID(index uint64) store.RecordID { return store.RecordID(index + 1) }
