// Package format has the bytes of the three files that an interrupted
// compaction leaves, and the checks that make a plan believable. It opens no
// files and moves no bytes. All integers are little-endian.
//
// compaction-plan (its presence means it is complete):
//
//	offset     size  field
//	0          8     B, the boundary: rows of the old record-log
//	8          8     retained, the number of plan rows
//	16         8     J, the most bytes of a batch
//	24         8     old end, the committed end before the compaction
//	32+72*i    48    typed hash text of plan row i, ASCII
//	80+72*i    8     old offset
//	88+72*i    8     new offset
//	96+72*i    8     length
//
// compaction-state is text: "move <cursor>\n" or "reload <cursor>\n", the
// cursor in canonical decimal, the LF its last byte.
//
// compaction-journal:
//
//	offset     size  field
//	0          8     first row: the effective cursor it belongs to
//	then for each journaled row, consecutive from first row:
//	           8     row index
//	           len   the bytes of that plan row
package format

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Sizes of the parts of a plan, in bytes.
const (
	PlanHeaderLen = 32
	PlanRowLen    = 72
)

// RowIndex is the zero-based index of a plan row.
type RowIndex uint64

// PlanHeader begins a plan.
type PlanHeader struct {
	Boundary store.Position // B: the rows of the old record-log
	Retained uint64         // plan rows
	Journal  uint64         // J: most bytes of a batch
	OldEnd   uint64         // committed end before the compaction
}

// AppendTo appends the 32 bytes of the header to dst.
func (h PlanHeader) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Boundary))
	dst = binary.LittleEndian.AppendUint64(dst, h.Retained)
	dst = binary.LittleEndian.AppendUint64(dst, h.Journal)
	return binary.LittleEndian.AppendUint64(dst, h.OldEnd)
}

// DecodePlanHeader reads the header that src begins with and validates it.
func DecodePlanHeader(src []byte) (PlanHeader, error) {
	if len(src) < PlanHeaderLen {
		return PlanHeader{}, fmt.Errorf("plan header has %d bytes, want %d", len(src), PlanHeaderLen)
	}
	h := PlanHeader{
		Boundary: store.Position(binary.LittleEndian.Uint64(src)),
		Retained: binary.LittleEndian.Uint64(src[8:]),
		Journal:  binary.LittleEndian.Uint64(src[16:]),
		OldEnd:   binary.LittleEndian.Uint64(src[24:]),
	}
	return h, h.Validate()
}

// Validate checks what the header can be checked for by itself.
func (h PlanHeader) Validate() error {
	switch {
	case h.Retained > uint64(h.Boundary):
		return fmt.Errorf("plan retains %d of %d records", h.Retained, h.Boundary)
	case h.Retained > (math.MaxInt64-PlanHeaderLen)/PlanRowLen:
		return fmt.Errorf("plan of %d rows is longer than a file can be", h.Retained)
	case h.OldEnd > math.MaxInt64:
		return fmt.Errorf("plan has the old end %d, which no file has", h.OldEnd)
	case h.Journal == 0 && h.Retained > 0:
		return fmt.Errorf("plan has a journal of 0 bytes for %d rows", h.Retained)
	}
	return nil
}

// PlanLen returns the exact length of the whole plan file, in bytes.
func (h PlanHeader) PlanLen() int64 { return PlanHeaderLen + PlanRowLen*int64(h.Retained) }

// PlanRow says where one retained record lies and where it goes.
type PlanRow struct {
	Hash      record.Hash
	OffsetOld uint64
	OffsetNew uint64
	Len       uint64
}

// EndOld returns the first offset behind the record at its old place.
func (r PlanRow) EndOld() uint64 { return r.OffsetOld + r.Len }

// EndNew returns the first offset behind the record at its new place.
func (r PlanRow) EndNew() uint64 { return r.OffsetNew + r.Len }

// Moves reports whether the record's offset changes.
func (r PlanRow) Moves() bool { return r.OffsetOld != r.OffsetNew }

// AppendTo appends the 72 bytes of the row to dst.
func (r PlanRow) AppendTo(dst []byte) []byte {
	dst = append(dst, r.Hash[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, r.OffsetOld)
	dst = binary.LittleEndian.AppendUint64(dst, r.OffsetNew)
	return binary.LittleEndian.AppendUint64(dst, r.Len)
}

// DecodePlanRow reads the row that src begins with and validates it.
func DecodePlanRow(src []byte) (PlanRow, error) {
	if len(src) < PlanRowLen {
		return PlanRow{}, fmt.Errorf("plan row has %d bytes, want %d", len(src), PlanRowLen)
	}
	if _, err := record.ParseHash(src[:record.HashLen]); err != nil {
		return PlanRow{}, err
	}
	return DecodeCheckedPlanRow(src)
}

// Validate checks what the row can be checked for by itself.
func (r PlanRow) Validate() error {
	switch {
	case r.Len == 0:
		return fmt.Errorf("plan row of %s has length 0", r.Hash)
	case r.OffsetNew > r.OffsetOld:
		return fmt.Errorf("plan row of %s moves up, from %d to %d", r.Hash, r.OffsetOld, r.OffsetNew)
	case r.OffsetOld > math.MaxInt64 || r.Len > math.MaxInt64-r.OffsetOld:
		return fmt.Errorf("plan row of %s has range %d+%d, which overflows", r.Hash, r.OffsetOld, r.Len)
	}
	return nil
}

// DecodeCheckedPlanRow reads a row of a plan that a Checker has accepted: it
// checks the numbers again, but does not parse the hash again.
func DecodeCheckedPlanRow(src []byte) (PlanRow, error) {
	_ = src[PlanRowLen-1]
	r := PlanRow{
		OffsetOld: binary.LittleEndian.Uint64(src[48:]),
		OffsetNew: binary.LittleEndian.Uint64(src[56:]),
		Len:       binary.LittleEndian.Uint64(src[64:]),
	}
	copy(r.Hash[:], src)
	return r, r.Validate()
}
