package verify

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// spindle is a disk with one head: it notes reads that come beside another and
// those that go back.
type spindle struct {
	io.ReaderAt
	mu      sync.Mutex
	reading bool
	next    int64
	reads   int
	beside  int
	back    int
}

func (s *spindle) ReadAt(b []byte, off int64) (int, error) {
	s.mu.Lock()
	if s.reading {
		s.beside++
	}
	if off < s.next {
		s.back++
	}
	s.reading, s.next = true, off+int64(len(b))
	s.reads++
	s.mu.Unlock()
	n, err := s.ReaderAt.ReadAt(b, off)
	s.mu.Lock()
	s.reading = false
	s.mu.Unlock()
	return n, err
}

// However many pieces are checked at a time, the arena is read in offset order,
// one read at a time: many readers make one disk slower than one does.
func TestReadsInOffsetOrder(t *testing.T) {
	var records [][]byte
	for i := range 60 {
		size := 300 << 10
		if i%3 > 0 {
			size = 200
		}
		records = append(records, blob(t, fmt.Sprint(i)+strings.Repeat("x", size)))
	}
	m := imageOf(t, records...)
	for _, level := range []Level{Glyphs, Hashes, Seals} {
		for _, opts := range []Options{{Jobs: 1}, {Jobs: 8}, {Jobs: 8, Subset: Subset{1, 3}}} {
			opts.Level = level
			t.Run(fmt.Sprintf("%s, %d jobs, %d parts", Levels()[level], opts.Jobs, opts.Subset.Parts), func(t *testing.T) {
				in, disk := m.input(), &spindle{ReaderAt: m.input().Arena}
				in.Arena = disk
				report, err := Root(t.Context(), in, opts)
				if err != nil || len(report.Bad) > 0 || report.Records == 0 {
					t.Fatalf("%+v, %v", report, err)
				}
				if disk.reads < 3 || disk.beside > 0 || disk.back > 0 {
					t.Errorf("%d reads, %d of them beside another, %d backwards", disk.reads, disk.beside, disk.back)
				}
			})
		}
	}
}
