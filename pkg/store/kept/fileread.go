package kept

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/bits"
	"strconv"

	"github.com/zeebo/blake3"
)

// maxLine bounds a header line, LF included; the longest has 75 bytes.
const maxLine = 80

// Reader reads a kept file: the header first, so that a caller can refuse the
// file of another root before its set is read into memory.
type Reader struct {
	Header Header
	r      *bufio.Reader
	sum    hash.Hash
}

// NewReader reads the header. Errors are *FormatError and those of r.
func NewReader(r io.Reader) (*Reader, error) {
	f := &Reader{r: bufio.NewReaderSize(r, chunkBytes), sum: blake3.New()}
	if err := f.header(); err != nil {
		return nil, err
	}
	if err := f.Header.Validate(); err != nil {
		return nil, err
	}
	f.sum.Write(f.Header.AppendTo(nil))
	return f, nil
}

func (f *Reader) header() error {
	if err := f.line("magic", fileMagic[:len(fileMagic)-1], nothing); err != nil {
		return err
	}
	h := &f.Header
	for _, field := range []struct {
		name string
		into func([]byte) bool
	}{
		{"root-log", digestInto(&h.RootLog)},
		{"boundary", numberInto((*uint64)(&h.Boundary))},
		{"retained", numberInto(&h.Retained)},
		{"policies", digestInto(&h.Policies)},
		{"kept", digestInto(&h.Kept)},
	} {
		if err := f.line(field.name, field.name+": ", field.into); err != nil {
			return err
		}
	}
	return f.line("end of the header", "", nothing)
}

// line reads one line, which must be prefix and then what into accepts.
func (f *Reader) line(where, prefix string, into func(rest []byte) bool) error {
	line, err := f.takeLine()
	if err != nil {
		return err
	}
	text := bytes.TrimSuffix(line, []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte(prefix))
	if !ok || len(text) == len(line) || !into(rest) {
		return &FormatError{Where: where, Found: fmt.Sprintf("%q", line), Want: fmt.Sprintf("a line %q in canonical form", prefix)}
	}
	return nil
}

// takeLine takes the next line, LF included, but no more than maxLine bytes.
func (f *Reader) takeLine() ([]byte, error) {
	line := make([]byte, 0, maxLine)
	for len(line) < maxLine {
		c, err := f.r.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if line = append(line, c); c == '\n' {
			break
		}
	}
	return line, nil
}

func nothing(rest []byte) bool { return len(rest) == 0 }

func digestInto(into *[32]byte) func([]byte) bool {
	return func(text []byte) bool {
		if len(text) != hex.EncodedLen(len(into)) || !bytes.Equal(text, bytes.ToLower(text)) {
			return false
		}
		_, err := hex.Decode(into[:], text)
		return err == nil
	}
}

func numberInto(into *uint64) func([]byte) bool {
	return func(text []byte) bool {
		n, err := strconv.ParseUint(string(text), 10, 64)
		*into = n
		return err == nil && string(text) == strconv.FormatUint(n, 10)
	}
}

// Set reads the rest of the file and returns the set; call it once. It checks
// the checksum, the padding bits, the number of ids, the kept digest, and that
// nothing follows. Errors are *FormatError and those of the underlying reader.
func (f *Reader) Set() (*Set, error) {
	set, err := f.bitmap()
	if err != nil {
		return nil, err
	}
	var found [32]byte
	if _, err := io.ReadFull(f.r, found[:]); err != nil {
		return nil, torn("checksum", err)
	}
	if want := [32]byte(f.sum.Sum(nil)); found != want {
		return nil, &FormatError{Where: "checksum", Found: hex.EncodeToString(found[:]), Want: hex.EncodeToString(want[:])}
	}
	if _, err := f.r.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, err
		}
		return nil, &FormatError{Where: "end", Found: "bytes behind the checksum", Want: "none"}
	}
	if set.count != f.Header.Retained {
		return nil, &FormatError{Where: "bitmap", Found: fmt.Sprintf("%d ids", set.count), Want: fmt.Sprintf("%d, as the header says", f.Header.Retained)}
	}
	if digest := set.Digest(f.Header.RootLog); digest != f.Header.Kept {
		return nil, &FormatError{Where: "kept", Found: hex.EncodeToString(f.Header.Kept[:]), Want: hex.EncodeToString(digest[:])}
	}
	return set, nil
}

// bitmap reads the bitmap chunk by chunk, so that memory grows with the bytes
// that are there and not with the boundary that the header claims.
func (f *Reader) bitmap() (*Set, error) {
	set := &Set{boundary: f.Header.Boundary}
	buf := make([]byte, chunkBytes)
	for left := bitmapLen(set.boundary); left > 0; {
		chunk := buf[:min(left, chunkBytes)]
		if _, err := io.ReadFull(f.r, chunk); err != nil {
			return nil, torn("bitmap", err)
		}
		f.sum.Write(chunk)
		left -= uint64(len(chunk))
		for ; len(chunk) > 0; chunk = chunk[min(8, len(chunk)):] {
			var word [8]byte
			copy(word[:], chunk)
			w := binary.LittleEndian.Uint64(word[:])
			set.words = append(set.words, w)
			set.count += uint64(bits.OnesCount64(w))
		}
	}
	if used := uint64(set.boundary) % 64; used > 0 && set.words[len(set.words)-1]>>used != 0 {
		return nil, &FormatError{Where: "bitmap", Found: "an id beyond the boundary", Want: "zero padding bits"}
	}
	return set, nil
}

// torn tells a file that ends too early from one that cannot be read.
func torn(where string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &FormatError{Where: where, Found: "the end of the file", Want: "more bytes"}
	}
	return err
}
