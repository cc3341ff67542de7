package rowlog

import (
	"errors"
	"fmt"
	"io"
)

// readBytes is how much of a log is read at a time.
const readBytes = 1 << 20

// RowError says that a complete row is not what it must be.
type RowError struct {
	Index uint64 // zero-based; the row of id Index+1
	Err   error
}

// Offset returns the byte offset of the row in the log.
func (e *RowError) Offset() uint64 { return e.Index * RowLen }

// Error names the row, its offset and what is wrong with it.
func (e *RowError) Error() string {
	return fmt.Sprintf("row %d at offset %d: %v", e.Index, e.Offset(), e.Err)
}

// Unwrap returns what is wrong with the row.
func (e *RowError) Unwrap() error { return e.Err }

// Scan gives visit every complete row of a log of size bytes, in order, as it
// is encoded; the bytes are valid during the call. It returns the length of an
// incomplete last row. An error of visit ends the scan and is returned as it
// is. A log that ends before size is io.ErrUnexpectedEOF.
func Scan(log io.ReaderAt, size int64, visit func(index uint64, encoded []byte) error) (torn uint64, err error) {
	complete := size / RowLen * RowLen
	buf := make([]byte, min(readBytes, complete))
	for at := int64(0); at < complete; {
		piece := buf[:min(int64(len(buf)), complete-at)]
		n, err := log.ReadAt(piece, at)
		if n < len(piece) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("%d of %d bytes at offset %d: %w", n, len(piece), at, err)
		}
		for i := 0; i < n; i += RowLen {
			if err := visit(uint64(at+int64(i))/RowLen, piece[i:i+RowLen:i+RowLen]); err != nil {
				return 0, err
			}
		}
		at += int64(n)
	}
	return uint64(size - complete), nil
}

// Read reads a log of size bytes into a table and checks every complete row:
// canonical hash, nonzero representable length, contiguity, an end inside an
// arena of capacity bytes, and a hash that no row before it has. The first row
// that fails is a *RowError; other errors are those of reading. It returns the
// length of an incomplete last row besides. Also with an error, the table has
// the rows that were checked before it.
func Read(log io.ReaderAt, size int64, capacity uint64) (table *Table, torn uint64, err error) {
	table = &Table{}
	torn, err = Scan(log, size, func(index uint64, encoded []byte) error {
		if err := table.pushEncoded(encoded, capacity); err != nil {
			return &RowError{index, err}
		}
		return nil
	})
	// The index is made once it is known how large it must be. A row that
	// repeats a hash comes before whatever ended the scan.
	if repeated := table.indexAll(); repeated != nil {
		return table, 0, repeated
	}
	return table, torn, err
}

func (t *Table) pushEncoded(encoded []byte, capacity uint64) error {
	row, err := Decode(encoded)
	if err != nil {
		return err
	}
	if err := row.CheckInside(capacity); err != nil {
		return err
	}
	if err := t.check(row); err != nil {
		return err
	}
	k := makeKey(row.Hash)
	t.push(row, &k)
	return nil
}

// CheckInside reports a row that ends beyond an arena of capacity bytes. The
// row has passed Validate.
func (r Row) CheckInside(capacity uint64) error {
	if r.End() > capacity {
		return fmt.Errorf("row of %s ends at %d, beyond the arena of %d bytes", r.Hash, r.End(), capacity)
	}
	return nil
}
