package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/blake3"
)

// Scanner cuts a stream of records, one directly behind the other, and checks
// each as ParseStrict does. It holds the headers of one record at a time,
// which the limits bound, and hands the data out as it is read.
//
//	for {
//		item, err := s.Next()
//		if err == io.EOF { break }      // the stream ended behind a record
//		io.Copy(staged, item)           // fails unless every digest is right
//	}
//
// The first error ends the scan. Errors of form are *FormatError values with
// the offset in the stream; others are those of the underlying reader.
type Scanner struct {
	r       *bufio.Reader
	offset  int64  // of the next unread byte in the stream
	head    []byte // of the item
	item    Item
	err     error
	hashers [3]*blake3.Hasher
}

// NewScanner returns a Scanner over r. It reads ahead of the record at hand.
func NewScanner(r io.Reader) *Scanner {
	// The buffer must hold the greatest head for Peek.
	s := &Scanner{r: bufio.NewReaderSize(r, 2*maxHeadLen)}
	for i := range s.hashers {
		s.hashers[i] = blake3.New()
	}
	return s
}

// Item is one record of the stream. Reading it yields the complete record; it
// ends with io.EOF only when every digest is right. It is valid until the next
// call of Next.
type Item struct {
	s      *Scanner
	head   View
	levels [3]int // offsets of its n glyph lines
	n      int
	start  int64 // in the stream
	pos    int64 // bytes handed out
	len    int64
	end    error // once all bytes are out: io.EOF, or the digest that is wrong
}

// Hash returns the typed hash that the record's glyph line names. It is proven
// only once the record has been read to its end.
func (i *Item) Hash() Hash { return i.head.Hash() }

// Len returns the length of the complete record in bytes.
func (i *Item) Len() int64 { return i.len }

// Offset returns where the record begins in the stream, in bytes.
func (i *Item) Offset() int64 { return i.start }

// Head returns a view of everything in front of the data: its Bytes end there,
// and its Data is empty. Its rules and limits are checked, its digests are
// not.
func (i *Item) Head() View { return i.head }

// Offset returns how many bytes of the stream have been handed out.
func (s *Scanner) Offset() int64 { return s.offset }

// Next returns the next record, after reading what is left of the one before.
// The error is io.EOF when the stream ends behind a record.
func (s *Scanner) Next() (*Item, error) {
	if s.err == nil && s.item.s != nil {
		// What the caller left unread is proven all the same.
		if _, err := s.item.WriteTo(io.Discard); err != nil {
			s.err = err
		}
	}
	if s.err == nil {
		s.err = s.begin()
	}
	if s.err != nil {
		return nil, s.err
	}
	return &s.item, nil
}

// begin reads the head of the record at the offset.
func (s *Scanner) begin() error {
	b, err := s.r.Peek(maxHeadLen)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read stream at byte %d: %w", s.offset+int64(len(b)), err)
	}
	if len(b) == 0 {
		return io.EOF
	}
	head, err := s.parseHead(b)
	if err != nil {
		return moved(err, s.offset, true)
	}
	s.item = Item{s: s, head: head, start: s.offset, len: int64(head.dataAt) + head.dataLen}
	s.item.levels, s.item.n = head.levels()
	for i := range s.item.n {
		s.hashers[i].Reset()
	}
	return nil
}

// parseHead reads the head that b begins with; b is all there is up to the
// greatest length of a head.
func (s *Scanner) parseHead(b []byte) (View, error) {
	head, err := parseHead(b)
	if errors.Is(err, errTruncated) && len(b) == maxHeadLen {
		err = wrong(0, "no data within %d bytes: headers are too long", maxHeadLen)
	}
	if err != nil {
		return View{}, err
	}
	s.head = append(s.head[:0], b[:head.dataAt]...)
	head.bytes = s.head
	return head, head.checkHead()
}

// Read implements io.Reader.
func (i *Item) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if i.pos == i.len {
		return 0, i.finish()
	}
	n, err := i.s.r.Read(p[:min(int64(len(p)), i.len-i.pos)])
	i.pass(p[:n])
	return n, i.s.readError(err)
}

// WriteTo implements io.WriterTo: it hands the read buffer to w without
// another copy.
func (i *Item) WriteTo(w io.Writer) (done int64, err error) {
	for i.pos < i.len {
		if _, err := i.s.r.Peek(1); err != nil {
			return done, i.s.readError(err)
		}
		ready := min(int64(i.s.r.Buffered()), i.len-i.pos)
		b, err := i.s.r.Peek(int(ready))
		if err != nil {
			return done, i.s.readError(err)
		}
		n, err := w.Write(b)
		done += int64(n)
		if err != nil {
			return done, err
		}
		i.pass(b)
		if _, err := i.s.r.Discard(len(b)); err != nil {
			return done, i.s.readError(err)
		}
	}
	if err := i.finish(); err != io.EOF {
		return done, err
	}
	return done, nil
}

// pass counts and hashes the next bytes of the record.
func (i *Item) pass(b []byte) {
	for level, at := range i.levels[:i.n] {
		// A level's payload begins behind its glyph line.
		if from := int64(at+GlyphLen) - i.pos; from < int64(len(b)) {
			i.s.hashers[level].Write(b[max(from, 0):]) // a hash never fails to take bytes
		}
	}
	i.pos += int64(len(b))
	i.s.offset += int64(len(b))
}

// finish compares the digests once all bytes are out.
func (i *Item) finish() error {
	if i.end != nil {
		return i.end
	}
	i.end = io.EOF
	for level, at := range i.levels[:i.n] {
		var sum Digest
		i.s.hashers[level].Sum(sum[:0])
		if err := i.head.checkDigest(at, sum); err != nil {
			i.end = moved(err, i.start, true)
			i.s.err = i.end
			break
		}
	}
	return i.end
}

// readError says where reading the stream ended inside a record, and ends the
// scan.
func (s *Scanner) readError(err error) error {
	switch err {
	case nil:
		return nil
	case io.EOF:
		s.err = &FormatError{Offset: s.offset, Stream: true, Err: errTruncated}
	default:
		s.err = fmt.Errorf("read stream at byte %d: %w", s.offset, err)
	}
	return s.err
}
