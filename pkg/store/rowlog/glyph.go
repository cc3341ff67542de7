package rowlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/lace-store/lace/pkg/store/record"
)

// Sizes of the reads of glyph lines, in bytes. One positional read per small
// record costs more than reading everything, so glyph lines that lie close
// together are read with what is between them.
const (
	glyphReadBytes = 1 << 20
	sparseRecord   = 1 << 15 // from this length on only the glyph line is read
	// Where rows are read in order, the disk is asked for this much in front of
	// them: reading what lies between two glyph lines takes it less time than
	// finding the second, up to records of about farRecord.
	glyphAheadBytes = 8 << 20
	farRecord       = 1 << 18
)

// readAheader is an arena that takes advice about what is read next.
type readAheader interface{ ReadAhead(off, n int64) }

// partRows is how many rows one reader of glyph lines takes at a time.
const partRows = 1 << 13

// CheckGlyphs checks that every row points at a complete glyph line whose
// typed hash is the row's. The first that does not is a *GlyphError; other
// errors are those of reading the arena, or the context's. Large tables are
// read by several readers at a time, so that the arena must allow that; the
// error is that of the first row all the same.
func (t *Table) CheckGlyphs(ctx context.Context, arena io.ReaderAt) error {
	return t.checkGlyphs(ctx, arena, runtime.GOMAXPROCS(0), partRows)
}

// checkGlyphs has up to that many readers, which take parts of so many rows in
// turn.
func (t *Table) checkGlyphs(ctx context.Context, arena io.ReaderAt, readers int, part uint64) error {
	parts := (t.rows.count + part - 1) / part
	var (
		mu    sync.Mutex
		next  uint64
		worst = parts // the first part with an error
		first error
		group sync.WaitGroup
	)
	// Parts are handed out in order, and each is finished: what is before the
	// first error has been looked at.
	take := func() (n uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		n = next
		next++
		return n, n < worst
	}
	for range min(uint64(max(readers, 1)), parts) {
		group.Go(func() {
			r := GlyphReader{Arena: arena, buf: make([]byte, max(min(glyphReadBytes, t.end), record.GlyphLen))}
			for n, ok := take(); ok; n, ok = take() {
				err := t.checkPart(ctx, &r, n*part, min((n+1)*part, t.rows.count))
				mu.Lock()
				if err != nil && n < worst {
					worst, first = n, err
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return first
}

// checkPart checks the rows of the indexes [i, end).
func (t *Table) checkPart(ctx context.Context, r *GlyphReader, i, end uint64) error {
	offset := t.rows.row(i).Offset
	// What is read for a part depends on nothing but the part.
	r.start, r.window, r.End = offset, nil, t.rows.row(end-1).End()
	for ; i < end; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		g, in := t.rows.at(i)
		row := Row{Hash: g.hash(in), Offset: offset, Len: t.rows.length(i, g.words[in])}
		glyph, err := r.Glyph(row)
		if err != nil {
			return err
		}
		if why := JudgeGlyph(glyph, row.Hash); why != nil {
			return &GlyphError{Index: i, Row: row, Err: why}
		}
		offset = row.End()
	}
	return nil
}

// GlyphError says that a row points at something else than its record.
type GlyphError struct {
	Index uint64 // zero-based; the row of id Index+1
	Row   Row
	Err   error
}

// Error names the record, its offset in the arena and what is there.
func (e *GlyphError) Error() string {
	return fmt.Sprintf("record #%d at offset %d: %v", ID(e.Index), e.Row.Offset, e.Err)
}

// Unwrap returns what is wrong with the glyph line.
func (e *GlyphError) Unwrap() error { return e.Err }

// JudgeGlyph reports bytes that do not begin with the glyph line of want, which
// was parsed.
func JudgeGlyph(b []byte, want record.Hash) error {
	if record.HasGlyphLine(b, &want) {
		return nil
	}
	got, err := record.ParseGlyphLine(b)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the glyph line of %s", got)
	}
	return nil
}

// GlyphReader reads the glyph lines of rows through one window of a mebibyte.
// It is made for rows in offset order; any other order is only slower.
type GlyphReader struct {
	Arena io.ReaderAt
	// End, unless zero, is the end of the last row in bytes: nothing behind it
	// is read.
	End uint64

	buf    []byte
	window []byte // the bytes [start, start+len(window)) of the arena
	start  uint64
	ahead  uint64 // the arena was asked for up to here
}

// Glyph returns the first bytes of a record, at most a glyph line, fewer when
// the record or the arena is shorter. They are valid until the next call.
func (g *GlyphReader) Glyph(row Row) ([]byte, error) {
	n := min(row.Len, record.GlyphLen)
	if row.Offset < g.start || row.Offset+n > g.start+uint64(len(g.window)) {
		if err := g.fill(row, n); err != nil {
			return nil, err
		}
	}
	from := row.Offset - g.start
	return g.window[min(from, uint64(len(g.window))):min(from+n, uint64(len(g.window)))], nil
}

func (g *GlyphReader) fill(row Row, n uint64) error {
	if g.buf == nil {
		size := uint64(glyphReadBytes)
		if g.End > 0 {
			size = min(size, g.End)
		}
		g.buf = make([]byte, max(size, record.GlyphLen))
	}
	want := uint64(len(g.buf))
	switch {
	case row.Len >= sparseRecord:
		want = n
	case g.End > row.Offset:
		want = max(n, min(want, g.End-row.Offset))
	}
	g.readAhead(row)
	g.window = nil // it must not be believed after a failed read
	got, err := g.Arena.ReadAt(g.buf[:want], int64(row.Offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	g.start, g.window = row.Offset, g.buf[:got]
	return nil
}

// readAhead asks for what follows, if rows come in order and close together.
func (g *GlyphReader) readAhead(row Row) {
	arena, ok := g.Arena.(readAheader)
	inOrder := row.Offset >= g.start && row.Offset-g.start <= 2*glyphReadBytes
	if !ok || !inOrder || row.Len > farRecord || row.Offset+glyphAheadBytes/2 <= g.ahead {
		return
	}
	from := max(row.Offset, g.ahead)
	to := row.Offset + glyphAheadBytes
	if g.End > 0 {
		to = min(to, g.End)
	}
	if from < to {
		arena.ReadAhead(int64(from), int64(to-from))
		g.ahead = to
	}
}
