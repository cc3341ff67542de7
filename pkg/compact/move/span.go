package move

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// maxGarbage is the longest run of unwanted bytes that is read along with the
// wanted ones around it, in bytes; a longer one is skipped.
const maxGarbage = 1 << 16

// maxSegments is how many pieces one read serves at most, so that short records
// take no more memory than long ones.
const maxSegments = 1 << 12

// place says where the bytes of a row are read from: its old offset, unless
// recovery found them elsewhere.
type place func(i format.RowIndex, r format.PlanRow) uint64

func oldPlace(_ format.RowIndex, r format.PlanRow) uint64 { return r.OffsetOld }

// piece is a run of bytes of one row; at is its offset within the row.
type piece struct {
	index format.RowIndex
	row   format.PlanRow
	at    uint64
	bytes []byte
}

// segment is a piece that is still to be read.
type segment struct {
	index  format.RowIndex
	row    format.PlanRow
	at, n  uint64
	source uint64 // arena offset
}

// spanReader reads rows in ascending order through one buffer: whole spans of
// the arena, unwanted bytes included where that costs less than another read.
// A row longer than the buffer comes in several pieces.
type spanReader struct {
	arena    vfs.File
	pace     *Pace
	plan     *Plan
	buf      []byte
	segments []segment
}

// each calls emit with the pieces of the rows [lo, hi), in order.
func (s *spanReader) each(lo, hi format.RowIndex, from place, emit func(piece) error) error {
	at := uint64(0) // bytes of row lo that are done
	for lo < hi {
		span, err := s.gather(lo, at, hi, from)
		if err != nil {
			return err
		}
		start := span[0].source
		last := span[len(span)-1]
		read := s.buf[:last.source+last.n-start]
		if _, err := s.arena.ReadAt(read, int64(start)); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read %d bytes at offset %d: %w", len(read), start, err)
		}
		s.pace.take(len(read))
		// The disk reads on while these bytes are written.
		end := start + uint64(len(read))
		vfs.ReadAhead(s.arena, int64(end), int64(min(uint64(len(s.buf)), max(end, s.plan.header.OldEnd)-end)))
		for _, g := range span {
			b := read[g.source-start : g.source-start+g.n]
			if err := emit(piece{g.index, g.row, g.at, b}); err != nil {
				return err
			}
		}
		lo, at = last.index, last.at+last.n
		if at == last.row.Len {
			lo, at = lo+1, 0
		}
	}
	return nil
}

// gather collects what one read serves: segments from byte at of row lo on
// that fit the buffer, without a long run of garbage between them.
func (s *spanReader) gather(lo format.RowIndex, at uint64, hi format.RowIndex, from place) ([]segment, error) {
	if s.segments == nil {
		s.segments = make([]segment, 0, min(maxSegments, uint64(s.plan.Rows())))
	}
	s.segments = s.segments[:0]
	var start, end uint64
	for i := lo; i < hi && len(s.segments) < maxSegments; i++ {
		r, err := s.plan.Row(i)
		if err != nil {
			return nil, err
		}
		source := from(i, r) + at
		if len(s.segments) == 0 {
			start, end = source, source
		}
		if source < end || source-end > maxGarbage || source-start >= uint64(len(s.buf)) {
			break
		}
		room := uint64(len(s.buf)) - (source - start)
		if at == 0 && room < min(record.GlyphLen, r.Len) && len(s.segments) > 0 {
			break // a first piece holds the whole glyph line
		}
		n := min(r.Len-at, room)
		s.segments = append(s.segments, segment{i, r, at, n, source})
		end = source + n
		if at+n < r.Len {
			break
		}
		at = 0
	}
	return s.segments, nil
}
