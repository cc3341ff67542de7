package index

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/lace-store/lace/pkg/store"
)

// wordLen is the size of an id and of the sentinel in a list file, in bytes.
const wordLen = 8

// MaxListBytes returns the size that a list file can have at a high-water: one
// id for every admitted record, and the sentinel.
func MaxListBytes(highWater store.Position) int64 {
	if uint64(highWater) > math.MaxInt64/wordLen-1 {
		return math.MaxInt64
	}
	return (int64(highWater) + 1) * wordLen
}

// AppendTo appends the bytes of the list's file to dst.
func (p *Posting) AppendTo(dst []byte) []byte {
	p.Each(func(id store.RecordID) bool {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(id))
		return true
	})
	return binary.LittleEndian.AppendUint64(dst, uint64(p.checked))
}

// WriteTo writes the bytes of the list's file in bounded pieces.
func (p *Posting) WriteTo(w io.Writer) (int64, error) {
	var written int64
	buf := make([]byte, 0, min(int64(p.count+1)*wordLen, listBuffer))
	flush := func() error {
		n, err := w.Write(buf)
		written += int64(n)
		buf = buf[:0]
		return err
	}
	var failed error
	p.Each(func(id store.RecordID) bool {
		if len(buf)+wordLen > cap(buf) {
			failed = flush()
		}
		buf = binary.LittleEndian.AppendUint64(buf, uint64(id))
		return failed == nil
	})
	if failed != nil {
		return written, failed
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(p.checked))
	return written, flush()
}

// listBuffer is how much of a list file is held at once, in bytes.
const listBuffer = 64 << 10

// DecodePosting reads a whole list file. highWater bounds the sentinel and,
// before anything is allocated, the number of ids.
func DecodePosting(src []byte, highWater store.Position) (*Posting, error) {
	d := decoder{highWater: highWater}
	if err := d.bound(int64(len(src))); err != nil {
		return nil, err
	}
	if err := d.take(src); err != nil {
		return nil, err
	}
	return d.finish()
}

// ReadPosting reads a list file of size bytes from r in bounded pieces, under
// the rules of DecodePosting. An error of r is returned as it is.
func ReadPosting(r io.ReaderAt, size int64, highWater store.Position) (*Posting, error) {
	d := decoder{highWater: highWater}
	if err := d.bound(size); err != nil {
		return nil, err
	}
	buf := make([]byte, min(size, listBuffer))
	for off := int64(0); off < size; off += int64(len(buf)) {
		buf = buf[:min(size-off, listBuffer)]
		if n, err := r.ReadAt(buf, off); n < len(buf) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("read at %d: %w", off, err)
		}
		if err := d.take(buf); err != nil {
			return nil, err
		}
	}
	return d.finish()
}

// decoder takes the words of a list file one after the other. The last word
// is the sentinel, so that every word is held back until the next one comes.
type decoder struct {
	highWater store.Position
	list      Posting
	held      uint64
	words     int64
}

// bound checks the size of the file before anything of it is read.
func (d *decoder) bound(size int64) error {
	switch most := MaxListBytes(d.highWater); {
	case size%wordLen != 0:
		return fmt.Errorf("list has %d bytes, want a multiple of %d", size, wordLen)
	case size < wordLen:
		return fmt.Errorf("list has %d bytes, want the sentinel at least", size)
	case size > most:
		return fmt.Errorf("list has %d bytes, want at most %d for %d records", size, most, d.highWater)
	}
	return nil
}

func (d *decoder) take(src []byte) error {
	for ; len(src) >= wordLen; src = src[wordLen:] {
		if d.words > 0 {
			id := store.RecordID(d.held)
			if id <= d.list.last || store.Position(id) > d.highWater {
				return fmt.Errorf("list word %d is id %d, want one in (%d, %d]", d.words-1, id, d.list.last, d.highWater)
			}
			d.list.Append(id)
		}
		d.held = binary.LittleEndian.Uint64(src)
		d.words++
	}
	return nil
}

func (d *decoder) finish() (*Posting, error) {
	checked := store.Position(d.held)
	if checked < store.Position(d.list.last) || checked > d.highWater {
		return nil, fmt.Errorf("list is checked through %d, want a position in [%d, %d]", checked, d.list.last, d.highWater)
	}
	d.list.Cover(checked)
	return &d.list, nil
}
