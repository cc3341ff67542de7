package rowlog

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/zeebo/blake3"
)

// readBytes is how much of a log is read at a time.
const readBytes = 2 << 20

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
	return scanPieces(log, size, func(index uint64, piece []byte) error {
		for i := 0; i < len(piece); i += RowLen {
			if err := visit(index+uint64(i)/RowLen, piece[i:i+RowLen:i+RowLen]); err != nil {
				return err
			}
		}
		return nil
	})
}

// scanPieces is Scan for many rows at a time.
func scanPieces(log io.ReaderAt, size int64, visit func(index uint64, piece []byte) error) (torn uint64, err error) {
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
		if err := visit(uint64(at)/RowLen, piece); err != nil {
			return 0, err
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
// the rows that were checked before it. All cores decode; what comes of it does
// not depend on how many there are.
func Read(log io.ReaderAt, size int64, capacity uint64) (table *Table, torn uint64, err error) {
	return readWith(log, size, capacity, runtime.GOMAXPROCS(0))
}

func readWith(log io.ReaderAt, size int64, capacity uint64, workers int) (table *Table, torn uint64, err error) {
	table = &Table{}
	d := decoder{table: table, capacity: capacity, workers: uint64(max(workers, 1)), digest: blake3.New()}
	torn, err = scanPieces(log, size, d.push)
	// The index is made once it is known how large it must be. A row that
	// repeats a hash comes before whatever ended the scan.
	if repeated := table.indexAll(workers); repeated != nil {
		return table, 0, repeated
	}
	if err == nil {
		// Rows have one encoding each, so that this is what Digest says.
		known := &digested{through: table.Position()}
		d.digest.Sum(known.sum[:0])
		table.digested.Store(known)
	}
	return table, torn, err
}

// decoder adds encoded rows to a table.
type decoder struct {
	table    *Table
	capacity uint64
	workers  uint64
	digest   *blake3.Hasher // of the rows
	blocks   []block
	group    sync.WaitGroup
}

// block is consecutive rows of a log that one goroutine decodes to their places
// in a table.
type block struct {
	first      uint64 // index
	encoded    []byte
	start, end uint64    // the range of the rows that were good, in the arena
	long       []longRow // of them
	good       uint64    // rows
	err        error     // of the row behind them
}

// leastBlock is how many rows are worth a goroutine.
const leastBlock = 1 << 10

// push adds the rows of a piece up to the first bad one, whose *RowError it
// returns.
func (d *decoder) push(index uint64, piece []byte) error {
	rows := uint64(len(piece)) / RowLen
	if index+rows > MaxRows {
		return &RowError{MaxRows, fmt.Errorf("record-log has more than %d rows", uint64(MaxRows))}
	}
	d.table.rows.extend(rows)
	// No two blocks have rows of one group.
	size := max((rows/d.workers+groupRows)/groupRows*groupRows, leastBlock)
	d.blocks = d.blocks[:0]
	for at := uint64(0); at < rows; at += size {
		d.blocks = append(d.blocks, block{first: index + at, encoded: piece[at*RowLen : min(at+size, rows)*RowLen]})
	}
	// A large piece is hashed several times faster than rows one by one later.
	d.group.Go(func() { d.digest.Write(piece) }) // a hash never fails to take bytes
	for i := range d.blocks[1:] {
		d.group.Go(func() { d.blocks[1+i].decode(&d.table.rows, d.capacity) })
	}
	d.blocks[0].decode(&d.table.rows, d.capacity)
	d.group.Wait()
	for i := range d.blocks {
		if err := d.table.join(&d.blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// join takes the rows of the next block.
func (t *Table) join(b *block) error {
	if b.good > 0 && b.start != t.end {
		b.good, b.err = 0, follows(b.row(0), t.end)
	}
	if b.good > 0 {
		t.rows.count, t.end = b.first+b.good, b.end
		t.rows.long = append(t.rows.long, b.long...)
	}
	if b.err != nil {
		t.rows.cut(t.rows.count)
		return &RowError{t.rows.count, b.err}
	}
	return nil
}

// row decodes row i of a block, which is good.
func (b *block) row(i uint64) Row {
	row, _ := Decode(b.encoded[i*RowLen:])
	return row
}

// decode checks rows by themselves and by the one before them in the block, and
// puts them into the table.
func (b *block) decode(rows *packed, capacity uint64) {
	for ; b.good < uint64(len(b.encoded))/RowLen; b.good++ {
		row, err := Decode(b.encoded[b.good*RowLen:])
		if err == nil {
			err = row.CheckInside(capacity)
		}
		if err == nil && b.good > 0 {
			err = follows(row, b.end)
		}
		if err != nil {
			b.err = err
			return
		}
		if b.good == 0 {
			b.start = row.Offset
		}
		k := makeKey(row.Hash)
		if rows.put(b.first+b.good, &k, row.Offset, row.Len) {
			b.long = append(b.long, longRow{b.first + b.good, row.Len})
		}
		b.end = row.End()
	}
}

// CheckInside reports a row that ends beyond an arena of capacity bytes. The
// row has passed Validate.
func (r Row) CheckInside(capacity uint64) error {
	if r.End() > capacity {
		return fmt.Errorf("row of %s ends at %d, beyond the arena of %d bytes", r.Hash, r.End(), capacity)
	}
	return nil
}
