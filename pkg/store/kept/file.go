package kept

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
)

// A kept file carries a decision from a preview to the run that applies it
// (docs/format.md has an example):
//
//	lace-kept/1\n
//	root-log: <64 hex>\n     BLAKE3 of the first B rows of record-log
//	boundary: <B>\n          decimal
//	retained: <N>\n          decimal, the ids in the set
//	policies: <64 hex>\n     digest of the policies, for the record only
//	kept: <64 hex>\n         the kept digest
//	\n
//	ceil(B/8) bytes          the bitmap, padding bits zero
//	32 bytes                 BLAKE3 of everything before
const fileMagic = "lace-kept/1\n"

// chunkBytes is how much of a bitmap is written or read at a time.
const chunkBytes = 64 << 10

// Header is what a kept file says about its set.
type Header struct {
	RootLog  [32]byte       // BLAKE3 of the first Boundary rows of the record-log
	Boundary store.Position // the set decides about (0, Boundary]
	Retained uint64         // ids in the set
	Policies [32]byte       // digest of the policies that chose; not checked by anything
	Kept     [32]byte       // Set.Digest with RootLog
}

// AppendTo appends the encoded header, the empty line included.
func (h Header) AppendTo(dst []byte) []byte {
	dst = append(dst, fileMagic...)
	return fmt.Appendf(dst, "root-log: %x\nboundary: %d\nretained: %d\npolicies: %x\nkept: %x\n\n",
		h.RootLog, h.Boundary, h.Retained, h.Policies, h.Kept)
}

// Validate checks what a header alone can tell.
func (h Header) Validate() error {
	if h.Retained > uint64(h.Boundary) {
		return &FormatError{Where: "retained", Found: strconv.FormatUint(h.Retained, 10), Want: fmt.Sprintf("at most the boundary, %d", h.Boundary)}
	}
	return nil
}

// FormatError is a kept file that is damaged, torn or no kept file.
type FormatError struct {
	Where string // the line or part
	Found string
	Want  string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %s, want %s", e.Where, e.Found, e.Want)
}

// WriteFile writes the kept file of the set. The set was decided for a
// record-log whose rows up to the boundary have the digest rootLog. Errors are
// those of w.
func (s *Set) WriteFile(w io.Writer, rootLog, policies [32]byte) error {
	sum := blake3.New()
	out := io.MultiWriter(w, sum)
	h := Header{RootLog: rootLog, Boundary: s.boundary, Retained: s.count, Policies: policies, Kept: s.Digest(rootLog)}
	if _, err := out.Write(h.AppendTo(nil)); err != nil {
		return err
	}
	if err := s.writeBitmap(out); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// writeBitmap writes the bytes of Bitmap in pieces.
func (s *Set) writeBitmap(w io.Writer) error {
	left := bitmapLen(s.boundary)
	buf := make([]byte, 0, min(chunkBytes, 8*len(s.words)))
	for i, word := range s.words {
		buf = binary.LittleEndian.AppendUint64(buf, word)
		if len(buf) < chunkBytes && i < len(s.words)-1 {
			continue
		}
		n := min(uint64(len(buf)), left)
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		left -= n
		buf = buf[:0]
	}
	return nil
}

// bitmapLen is ceil(boundary/8), which cannot overflow.
func bitmapLen(boundary store.Position) uint64 {
	n := uint64(boundary) / 8
	if boundary%8 != 0 {
		n++
	}
	return n
}
