package rowlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// arenaOf returns a table of records with these lengths, each at least a glyph
// line, and their arena with more bytes behind the end.
func arenaOf(t *testing.T, lengths ...uint64) (*Table, []byte) {
	t.Helper()
	table := &Table{}
	var arena []byte
	for i, n := range lengths {
		row := Row{Hash: hashOf(i), Offset: table.End(), Len: n}
		if err := table.Append(row); err != nil {
			t.Fatal(err)
		}
		rec := record.AppendGlyphLine(nil, row.Hash)
		arena = append(arena, append(rec, bytes.Repeat([]byte("x"), int(n)-len(rec))...)...)
	}
	return table, append(arena, "residue"...)
}

// The lengths mix glyph lines that are read together, records that straddle a
// window, and records of which only the glyph line is read.
var mixedLengths = []uint64{55, 100, sparseRecord - 1, sparseRecord, 60, 2 * glyphReadBytes, 55, 55, glyphReadBytes - 10, 200}

func TestCheckGlyphs(t *testing.T) {
	table, arena := arenaOf(t, mixedLengths...)
	if err := table.CheckGlyphs(t.Context(), bytes.NewReader(arena)); err != nil {
		t.Error(err)
	}
	for i := range mixedLengths {
		row := table.Row(ID(uint64(i)))
		for name, damage := range map[string]func(b []byte){
			"first byte": func(b []byte) { b[0] ^= 1 },
			"last byte":  func(b []byte) { b[record.GlyphLen-1] = ' ' },
			"other hash": func(b []byte) { copy(b, record.AppendGlyphLine(nil, hashOf(1000))) },
			"zeros":      func(b []byte) { clear(b[:record.GlyphLen]) },
		} {
			line := arena[row.Offset:][:record.GlyphLen]
			sound := bytes.Clone(line)
			damage(line)
			err := table.CheckGlyphs(t.Context(), bytes.NewReader(arena))
			copy(line, sound)
			var glyph *GlyphError
			if !errors.As(err, &glyph) || glyph.Index != uint64(i) || glyph.Row != row {
				t.Errorf("%s of record %d: %v", name, i, err)
			}
		}
	}
}

// Bytes behind the glyph line are trusted: ordinary recovery rehashes nothing.
func TestCheckGlyphsTrustsTheRest(t *testing.T) {
	table, arena := arenaOf(t, 100)
	arena[record.GlyphLen] ^= 1
	if err := table.CheckGlyphs(t.Context(), bytes.NewReader(arena)); err != nil {
		t.Error(err)
	}
}

func TestCheckGlyphsOfShortRecordsAndArenas(t *testing.T) {
	table := &Table{}
	if err := table.Append(Row{Hash: hashOf(0), Len: record.GlyphLen - 1}); err != nil {
		t.Fatal(err)
	}
	line := record.AppendGlyphLine(nil, hashOf(0))
	for name, arena := range map[string][]byte{"a record shorter than a glyph line": line, "an arena that ends early": line[:20], "an empty arena": nil} {
		var glyph *GlyphError
		if err := table.CheckGlyphs(t.Context(), bytes.NewReader(arena)); !errors.As(err, &glyph) || !strings.Contains(err.Error(), "bytes, want 55") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One read per record would cost more than reading everything.
func TestCheckGlyphsReadsDenseRecordsTogether(t *testing.T) {
	lengths := make([]uint64, 4096)
	for i := range lengths {
		lengths[i] = 1024
	}
	table, arena := arenaOf(t, lengths...)
	r := &countingReader{ReaderAt: bytes.NewReader(arena)}
	if err := table.CheckGlyphs(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.calls > 5 || r.most > glyphReadBytes {
		t.Errorf("%d reads, the largest of %d bytes", r.calls, r.most)
	}
}

func TestCheckGlyphsSeeksPastLargeRecords(t *testing.T) {
	table, arena := arenaOf(t, 1<<20, 1<<20, 1<<20)
	r := &countingReader{ReaderAt: bytes.NewReader(arena)}
	if err := table.CheckGlyphs(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.calls != 3 || r.most != record.GlyphLen {
		t.Errorf("%d reads, the largest of %d bytes", r.calls, r.most)
	}
}

func TestCheckGlyphsStops(t *testing.T) {
	table, arena := arenaOf(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := table.CheckGlyphs(ctx, bytes.NewReader(arena)); !errors.Is(err, context.Canceled) {
		t.Errorf("CheckGlyphs = %v", err)
	}
}

type failing struct{ io.ReaderAt }

func (failing) ReadAt(p []byte, _ int64) (int, error) { return copy(p, "junk"), io.ErrClosedPipe }

func TestGlyphReaderForgetsAFailedRead(t *testing.T) {
	table, arena := arenaOf(t, 100)
	r := GlyphReader{Arena: failing{}}
	if _, err := r.Glyph(table.Row(1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("Glyph = %v", err)
	}
	r.Arena = bytes.NewReader(arena)
	glyph, err := r.Glyph(table.Row(1))
	if err != nil || JudgeGlyph(glyph, hashOf(0)) != nil {
		t.Errorf("after a failed read: %q, %v", glyph, err)
	}
}

// advised is an arena that notes what is asked for in advance.
type advised struct {
	io.ReaderAt
	asked [][2]int64
}

func (a *advised) ReadAhead(off, n int64) { a.asked = append(a.asked, [2]int64{off, n}) }

// What lies in front of rows that come in order is asked for once, without a
// gap, and nothing is asked for when rows are far from each other.
func TestGlyphReaderAsksAhead(t *testing.T) {
	const length, rows = 1 << 15, 2000
	read := func(stride int) [][2]int64 {
		arena := &advised{ReaderAt: bytes.NewReader(nil)}
		r := GlyphReader{Arena: arena, End: length * rows}
		for i := 0; i < rows; i += stride {
			if _, err := r.Glyph(Row{Offset: uint64(i) * length, Len: length}); err != nil {
				t.Fatal(err)
			}
		}
		return arena.asked
	}
	end := int64(0)
	for _, a := range read(1) {
		if a[0] != end {
			t.Errorf("asked for %d bytes at %d, want %d", a[1], a[0], end)
		}
		end = a[0] + a[1]
	}
	if end != length*rows {
		t.Errorf("asked up to %d, want %d", end, length*rows)
	}
	if far := read(100); len(far) != 1 { // the first row is near the beginning
		t.Errorf("asked %d times for rows that lie apart", len(far))
	}
}

// Any number of readers, over parts of any length, says what one says.
func TestReadersOfGlyphsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Uint64Range(record.GlyphLen, 300), 1, 60).Draw(rt, "lengths")
		table, arena := arenaOf(t, lengths...)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(lengths)-1), 0, 4).Draw(rt, "damaged") {
			at := table.Row(ID(uint64(i))).Offset
			arena[at+rapid.Uint64Range(0, record.GlyphLen-1).Draw(rt, "byte")] ^= 1
		}
		// An arena that cannot be read from somewhere on.
		broken := failingFrom{bytes.NewReader(arena), int64(rapid.IntRange(0, 2*len(arena)).Draw(rt, "broken"))}
		readers, part := rapid.IntRange(2, 5).Draw(rt, "readers"), rapid.Uint64Range(1, 20).Draw(rt, "part")
		got := table.checkGlyphs(t.Context(), broken, readers, part)
		if want := table.checkGlyphs(t.Context(), broken, 1, part); fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("%d readers of %d rows: %v, one says %v", readers, part, got, want)
		}
		// A plain pass over the rows finds the same, as long as all can be read.
		for i := range uint64(len(lengths)) {
			row := table.Row(ID(i))
			if why := JudgeGlyph(arena[row.Offset:], row.Hash); why != nil {
				var glyph *GlyphError
				if !errors.Is(got, errBroken) && (!errors.As(got, &glyph) || *glyph != (GlyphError{i, row, glyph.Err}) || glyph.Err.Error() != why.Error()) {
					rt.Fatalf("%d readers of %d rows: %v, want row %d: %v", readers, part, got, i, why)
				}
				return
			}
		}
		if got != nil && !errors.Is(got, errBroken) {
			rt.Fatalf("%d readers of %d rows: %v of a sound arena", readers, part, got)
		}
	})
}

var errBroken = errors.New("this place cannot be read")

// failingFrom is an arena of which nothing is read that reaches beyond a place.
type failingFrom struct {
	io.ReaderAt
	at int64
}

func (f failingFrom) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.at {
		return 0, errBroken
	}
	return f.ReaderAt.ReadAt(p, off)
}

func BenchmarkCheckGlyphs(b *testing.B) {
	const rows = 1 << 20
	table, _, err := Read(generated(rows), rows*RowLen, math.MaxInt64)
	if err != nil {
		b.Fatal(err)
	}
	for _, readers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			for b.Loop() {
				if err := table.checkGlyphs(b.Context(), glyphsOf{table}, readers, partRows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

// glyphsOf is the arena of a table whose records have 200 bytes. It takes no
// memory.
type glyphsOf struct{ table *Table }

func (g glyphsOf) ReadAt(p []byte, off int64) (int, error) {
	line := make([]byte, 0, record.GlyphLen)
	for id := store.RecordID(off/200 + 1); store.Position(id) <= g.table.Position(); id++ {
		at := int64(id-1)*200 - off
		if at >= int64(len(p)) {
			break
		}
		line = record.AppendGlyphLine(line[:0], g.table.Hash(id))
		copy(p[max(at, 0):], line[min(max(-at, 0), int64(len(line))):])
	}
	return len(p), nil
}
