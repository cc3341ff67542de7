package compacttest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// bigRoot is a root of many records on the real file system. The records have
// right glyph lines; nothing here reads further.
type bigRoot struct {
	dir   string
	table *rowlog.Table
}

func makeBigRoot(b *testing.B, records, least, most int) bigRoot {
	b.Helper()
	r := bigRoot{dir: b.TempDir(), table: &rowlog.Table{}}
	random := rand.New(rand.NewPCG(1, 1))
	f, err := osfs.New().OpenFile(filepath.Join(r.dir, root.Records), vfs.ReadWrite|vfs.Create)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(io.NewOffsetWriter(f, 0), 1<<20)
	body := make([]byte, most)
	for i := range records {
		var digest record.Digest
		digest[0], digest[1], digest[2], digest[3] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
		row := rowlog.Row{Hash: record.MakeHash(record.Blob, digest), Offset: r.table.End(), Len: uint64(least + random.IntN(most-least+1))}
		w.Write(record.AppendGlyphLine(nil, row.Hash))
		w.Write(body[:row.Len-record.GlyphLen])
		if err := r.table.Append(row); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), f.Sync(), f.Close()); err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkCompact is a compaction beside the naive way, which copies what
// stays into a second file.
func BenchmarkCompact(b *testing.B) {
	for _, size := range []struct {
		name                 string
		records, least, most int
	}{
		{"200-2000B", 200_000, 200, 2000},
		{"32KiB", 6_000, 32 << 10, 32 << 10},
		{"200B", 800_000, 200, 200},
	} {
		for _, keep := range []float64{0.5, 0.95, 0.05} {
			stays := rand.New(rand.NewPCG(2, 2))
			choose := func(n store.Position) *kept.Set {
				set := kept.New(n)
				for i := range uint64(n) {
					if stays.Float64() < keep {
						set.Add(rowlog.ID(i))
					}
				}
				return set
			}
			name := fmt.Sprintf("%s/keep-%g", size.name, keep)
			b.Run(name+"/in-place", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					r := makeBigRoot(b, size.records, size.least, size.most)
					set := choose(r.table.Position())
					b.StartTimer()
					r.compact(b, set)
				}
			})
			b.Run(name+"/copy", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					r := makeBigRoot(b, size.records, size.least, size.most)
					set := choose(r.table.Position())
					b.StartTimer()
					r.copy(b, set)
				}
			})
		}
	}
}

func (r bigRoot) compact(b *testing.B, set *kept.Set) {
	plan, err := compact.NewPlan(r.table, set, compact.DefaultJournalSize)
	if err != nil {
		b.Fatal(err)
	}
	report, err := Plain{Truncate: true}.withArena(osfs.New(), r.dir, func(root *plainRoot) (compact.Report, error) {
		return compact.Run(b.Context(), root, plan, compact.Options{})
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(report.Retained.Bytes))
	b.ReportMetric(float64(report.Written)/float64(report.Retained.Bytes), "written/retained")
	for _, p := range report.Phases {
		b.ReportMetric(p.Seconds*1000, p.Name+"-ms")
	}
}

// copy reads the arena once and writes what stays into a second file.
func (r bigRoot) copy(b *testing.B, set *kept.Set) {
	fsys := osfs.New()
	in, err := fsys.OpenFile(filepath.Join(r.dir, root.Records), vfs.ReadOnly)
	if err != nil {
		b.Fatal(err)
	}
	end := uint64(0)
	err = vfs.Replace(fsys, r.dir, "copy", func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 4<<20)
		src := bufio.NewReaderSize(io.NewSectionReader(in, 0, int64(r.table.End())), 4<<20)
		at := uint64(0)
		for id := range set.IDs() {
			row := r.table.Row(id)
			if _, err := src.Discard(int(row.Offset - at)); err != nil {
				return err
			}
			if _, err := io.CopyN(out, src, int64(row.Len)); err != nil {
				return err
			}
			at = row.End()
			end += row.Len
		}
		return out.Flush()
	})
	if err == nil {
		err = vfs.Replace(fsys, r.dir, root.RecordLog, func(w io.Writer) error {
			for id := range set.IDs() {
				if _, err := w.Write(r.table.Row(id).AppendTo(nil)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err = errors.Join(err, in.Close()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(end))
}
