package native_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// BenchmarkOpen opens a root of records of 200 to 2,000 bytes, with recovery,
// beside reading its arena once, in turns, so that both meet the same load.
// The caches are told to forget the files before each; where the system does
// not listen, both are warm.
func BenchmarkOpen(b *testing.B) {
	fsys, dir := osfs.New(), filepath.Join(b.TempDir(), "root")
	end := fill(b, fsys, dir)
	b.SetBytes(end)
	var reading, opening time.Duration
	for b.Loop() {
		forget(b, fsys, dir, end)
		start := time.Now()
		readOnce(b, fsys, dir, end)
		reading += time.Since(start)

		forget(b, fsys, dir, end)
		start = time.Now()
		s, err := native.Open(b.Context(), dir, native.Options{FS: fsys})
		must(b, err)
		opening += time.Since(start)
		must(b, s.Close())
	}
	b.ReportMetric(float64(end)*float64(b.N)/1e6/reading.Seconds(), "read-MB/s")
	b.ReportMetric(opening.Seconds()/reading.Seconds(), "x-reading")
}

// fill makes the root and returns its committed end.
func fill(b *testing.B, fsys vfs.FS, dir string) int64 {
	s, err := native.Create(b.Context(), dir, native.Options{FS: fsys, Capacity: 1 << 30})
	must(b, err)
	for batch := range 100 {
		var records [][]byte
		for i := range 1000 {
			v, err := record.BuildBlob(nil, fmt.Appendf(nil, "%d.%d%s", batch, i, strings.Repeat(".", 110+(1000*batch+i)*7919%1800)))
			must(b, err)
			records = append(records, v.Bytes())
		}
		_, err := admit(s, records...)
		must(b, err)
	}
	end := int64(s.Table().End())
	must(b, s.Close())
	return end
}

func forget(b *testing.B, fsys vfs.FS, dir string, end int64) {
	for _, name := range []string{root.Records, root.RecordLog} {
		f, err := fsys.OpenFile(filepath.Join(dir, name), vfs.ReadOnly)
		must(b, err)
		must(b, errors.Join(f.DropCache(0, end), f.Close()))
	}
}

func readOnce(b *testing.B, fsys vfs.FS, dir string, end int64) {
	f, err := fsys.OpenFile(filepath.Join(dir, root.Records), vfs.ReadOnly)
	must(b, err)
	buf := make([]byte, 1<<20)
	for at := int64(0); at < end; at += int64(len(buf)) {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), end-at)], at)
		if err != nil && !(errors.Is(err, io.EOF) && n > 0) {
			b.Fatal(err)
		}
	}
	must(b, f.Close())
}

func BenchmarkProfile(b *testing.B) {
	profiletest.Subject{Profile: native.Profile{}, Capacity: 1 << 30}.Benchmark(b)
}
