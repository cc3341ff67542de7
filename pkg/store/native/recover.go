package native

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Sizes of the reads of recovery, in bytes. One positional read per small
// record costs more than reading everything, so glyph lines that lie close
// together are read with what is between them.
const (
	logReadBytes   = 1 << 20
	glyphReadBytes = 1 << 20
	sparseRecord   = 1 << 15 // from this length on only the glyph line is read
)

// loadTable reads record-log into a table, checking every complete row:
// canonical encoding, nonzero representable length, contiguity, a range inside
// the arena, and a hash that no row before it has. It returns the bytes of an
// incomplete last row besides.
func loadTable(log vfs.File, dir string, capacity uint64) (table *rowlog.Table, torn uint64, err error) {
	path := filepath.Join(dir, root.RecordLog)
	info, err := log.Stat()
	if err != nil {
		return nil, 0, ioError("read", dir, path, err)
	}
	table = &rowlog.Table{}
	complete := info.Size / rowlog.RowLen * rowlog.RowLen
	buf := make([]byte, min(logReadBytes, max(complete, rowlog.RowLen)))
	for at := int64(0); at < complete; {
		n, err := log.ReadAt(buf[:min(int64(len(buf)), complete-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, ioError("read", dir, path, err)
		}
		if n == 0 || n%rowlog.RowLen != 0 {
			return nil, 0, ioError("read", dir, path, fmt.Errorf("%d bytes at offset %d: %w", n, at, io.ErrUnexpectedEOF))
		}
		for i := 0; i < n; i += rowlog.RowLen {
			if err := appendRow(table, buf[i:i+rowlog.RowLen], capacity); err != nil {
				where := fmt.Sprintf("row %d at offset %d", table.Position(), at+int64(i))
				return nil, 0, corrupt(dir, path, where, err.Error(), "")
			}
		}
		at += int64(n)
	}
	return table, uint64(info.Size - complete), nil
}

func appendRow(table *rowlog.Table, encoded []byte, capacity uint64) error {
	row, err := rowlog.Decode(encoded)
	if err != nil {
		return err
	}
	if row.End() > capacity {
		return fmt.Errorf("row of %s ends at %d, beyond the arena of %d bytes", row.Hash, row.End(), capacity)
	}
	return table.Append(row)
}

// checkGlyphs checks that every row points at a complete glyph line whose
// typed hash is the row's.
func checkGlyphs(arena vfs.File, dir string, table *rowlog.Table) error {
	r := glyphReader{arena: arena}
	for i := range uint64(table.Position()) {
		id := rowlog.ID(i)
		row := table.Row(id)
		glyph, err := r.glyph(row)
		if err != nil {
			return ioError("read", dir, filepath.Join(dir, root.Records), err)
		}
		if why := judgeGlyph(glyph, row.Hash); why != "" {
			where := fmt.Sprintf("record #%d at offset %d", id, row.Offset)
			return corrupt(dir, filepath.Join(dir, root.Records), where, why, "the glyph line of "+row.Hash.String())
		}
	}
	return nil
}

// judgeGlyph says what is wrong with a glyph line, or nothing.
func judgeGlyph(glyph []byte, want record.Hash) string {
	got, err := record.ParseGlyphLine(glyph)
	if err != nil {
		return err.Error()
	}
	if got != want {
		return "the glyph line of " + got.String()
	}
	return ""
}

// glyphReader reads glyph lines in offset order through one window.
type glyphReader struct {
	arena  vfs.File
	buf    []byte
	window []byte // the bytes [start, start+len(window)) of the arena
	start  uint64
}

// glyph returns the first bytes of a record, at most a glyph line, fewer when
// the record or the arena is shorter. They are valid until the next call.
func (g *glyphReader) glyph(row rowlog.Row) ([]byte, error) {
	n := min(row.Len, record.GlyphLen)
	if row.Offset < g.start || row.Offset+n > g.start+uint64(len(g.window)) {
		if err := g.fill(row, n); err != nil {
			return nil, err
		}
	}
	from := row.Offset - g.start
	if from >= uint64(len(g.window)) {
		return nil, nil
	}
	return g.window[from:min(from+n, uint64(len(g.window)))], nil
}

func (g *glyphReader) fill(row rowlog.Row, n uint64) error {
	if g.buf == nil {
		g.buf = make([]byte, glyphReadBytes)
	}
	want := uint64(len(g.buf))
	if row.Len >= sparseRecord {
		want = n
	}
	got, err := g.arena.ReadAt(g.buf[:want], int64(row.Offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	g.start, g.window = row.Offset, g.buf[:got]
	return nil
}
