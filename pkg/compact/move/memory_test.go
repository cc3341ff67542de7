package move

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// sparseRoot makes a root of n records of a length behind a gap; all of a
// record but its glyph line is a hole. It returns the arena and the plan that
// moves them all down by the gap.
func sparseRoot(t *testing.T, n, length, gap, journal uint64) (dir string, arena vfs.File, plan *Plan) {
	t.Helper()
	dir = t.TempDir()
	open := func(name string) vfs.File {
		f, err := osfs.New().OpenFile(filepath.Join(dir, name), vfs.ReadWrite|vfs.Create)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	arena, file := open(root.Records), open(root.Plan)
	header := format.PlanHeader{Boundary: store.Position(n + 1), Retained: n, Journal: journal, OldEnd: gap + n*length}
	text := header.AppendTo(nil)
	for i := range n {
		digest := record.Digest{byte(i), byte(i >> 8), byte(i >> 16)}
		row := format.PlanRow{Hash: record.MakeHash(record.Blob, digest), OffsetOld: gap + i*length, OffsetNew: i * length, Len: length}
		if _, err := arena.WriteAt(record.AppendGlyphLine(nil, row.Hash), int64(row.OffsetOld)); err != nil {
			t.Fatal(err)
		}
		text = row.AppendTo(text)
	}
	if err := arena.Truncate(int64(header.OldEnd)); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		t.Fatal(err)
	}
	return dir, arena, NewPlan(file, header)
}

// Everything that moving allocates is its two buffers, a page of the plan and a list
// of pieces of bounded length,
// whatever the length of a record and J, journaled or not.
func TestMemoryIsThatOfTheBuffers(t *testing.T) {
	const (
		buffer = 1 << 20
		bound  = 2*buffer + pageRows*format.PlanRowLen + maxSegments*128 + 256<<10
	)
	for _, c := range []struct {
		name                    string
		n, length, gap, journal uint64
	}{
		{"small records", 10_000, 200, 1000, 1 << 20},
		{"small records, a long journal", 10_000, 200, 1000, 64 << 20},
		{"a maximum record", 1, record.MaxRecordLen, 1000, record.MaxRecordLen},
		{"maximum records, a long journal", 3, record.MaxRecordLen, 1000, 128 << 20},
		{"maximum records, no journal", 2, record.MaxRecordLen, record.MaxRecordLen, 128 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, arena, plan := sparseRoot(t, c.n, c.length, c.gap, c.journal)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := New(Config{FS: osfs.New(), Dir: dir, Arena: arena, Plan: plan, Buffer: buffer})
			if err := m.Run(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if m.Stats().Moved != c.n*c.length {
				t.Fatalf("%d bytes moved, want %d", m.Stats().Moved, c.n*c.length)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > bound {
				t.Errorf("%d bytes were allocated, want at most %d", got, bound)
			}
		})
	}
}
