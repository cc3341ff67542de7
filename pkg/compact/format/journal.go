package format

import (
	"encoding/binary"
	"fmt"
)

// Sizes of the parts of a journal, in bytes.
const (
	JournalHeaderLen = 8
	JournalEntryLen  = 8 // what precedes the bytes of a journaled row
)

// JournalHeader begins a journal: First is the first plan row of the batch it
// belongs to, which was the effective cursor when it was written.
type JournalHeader struct{ First RowIndex }

// AppendTo appends the 8 bytes of the header to dst.
func (h JournalHeader) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(h.First))
}

// DecodeJournalHeader reads the header that src begins with.
func DecodeJournalHeader(src []byte) (JournalHeader, error) {
	if len(src) < JournalHeaderLen {
		return JournalHeader{}, fmt.Errorf("journal header has %d bytes, want %d", len(src), JournalHeaderLen)
	}
	return JournalHeader{RowIndex(binary.LittleEndian.Uint64(src))}, nil
}

// JournalEntry precedes the bytes of one journaled row.
type JournalEntry struct{ Index RowIndex }

// AppendTo appends the 8 bytes of the entry's index to dst.
func (e JournalEntry) AppendTo(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(e.Index))
}

// DecodeJournalEntry reads the index that src begins with.
func DecodeJournalEntry(src []byte) (JournalEntry, error) {
	if len(src) < JournalEntryLen {
		return JournalEntry{}, fmt.Errorf("journal entry has %d bytes, want %d", len(src), JournalEntryLen)
	}
	return JournalEntry{RowIndex(binary.LittleEndian.Uint64(src))}, nil
}

// JournalOffset returns where the bytes of row begin in the journal of the
// batch that starts at row first. The rows of a journal are consecutive, and
// the new offsets of consecutive rows are the running sum of their lengths.
func JournalOffset(firstIndex RowIndex, first PlanRow, index RowIndex, row PlanRow) int64 {
	return int64(JournalHeaderLen + JournalEntryLen*uint64(index-firstIndex+1) + row.OffsetNew - first.OffsetNew)
}
