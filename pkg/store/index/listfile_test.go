package index_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

func words(ws ...uint64) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func TestListFileVectors(t *testing.T) {
	for _, c := range []struct {
		name    string
		ids     []store.RecordID
		through store.Position
		bytes   []byte
	}{
		{"new and empty", nil, 0, make([]byte, 8)},
		{"empty, checked", nil, 7, []byte{7, 0, 0, 0, 0, 0, 0, 0}},
		{"two ids", []store.RecordID{1, 0x0203}, 0x0405, []byte{
			1, 0, 0, 0, 0, 0, 0, 0,
			3, 2, 0, 0, 0, 0, 0, 0,
			5, 4, 0, 0, 0, 0, 0, 0,
		}},
		{"last record matches", []store.RecordID{9}, 9, words(9, 9)},
	} {
		p := posting(c.ids, c.through)
		if got := p.AppendTo(nil); !bytes.Equal(got, c.bytes) {
			t.Errorf("%s: bytes % x, want % x", c.name, got, c.bytes)
		}
		again, err := index.DecodePosting(c.bytes, 0x0405)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(idsOf(again), idsOf(p)) || again.CheckedThrough() != c.through {
			t.Errorf("%s: read as %v through %d", c.name, idsOf(again), again.CheckedThrough())
		}
	}
}

func TestListFileRejects(t *testing.T) {
	const highWater = 10
	for name, src := range map[string][]byte{
		"empty file":                   {},
		"torn sentinel":                words(3)[:7],
		"torn id":                      words(3, 4)[:12],
		"one word more than records":   words(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10),
		"id zero":                      words(0, 5),
		"repeated id":                  words(3, 3, 5),
		"descending ids":               words(4, 3, 5),
		"id above the high-water":      words(11, 11),
		"id above the sentinel":        words(4, 5, 4),
		"sentinel above high-water":    words(4, 11),
		"sentinel of all ones":         words(4, math.MaxUint64),
		"zeros behind the first words": words(1, 2, 0, 0),
	} {
		if p, err := index.DecodePosting(src, highWater); err == nil {
			t.Errorf("%s: read as %v through %d", name, idsOf(p), p.CheckedThrough())
		}
		if p, err := index.ReadPosting(bytes.NewReader(src), int64(len(src)), highWater); err == nil {
			t.Errorf("%s: read in pieces as %v", name, idsOf(p))
		}
	}
}

// A size that passes the bound is refused before anything is read or
// allocated.
func TestListFileOversizedIsNotRead(t *testing.T) {
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := index.ReadPosting(unreadable{}, 1<<40, 1000); err == nil {
			t.Error("a list of a tebibyte was accepted")
		}
	})
	if allocs > 10 {
		t.Errorf("took %.0f allocations", allocs)
	}
	if got := index.MaxListBytes(0); got != 8 {
		t.Errorf("an empty root bounds lists to %d bytes, want 8", got)
	}
	if got := index.MaxListBytes(math.MaxUint64); got != math.MaxInt64 {
		t.Errorf("the bound of the greatest position is %d", got)
	}
}

var errUnreadable = errors.New("unreadable")

type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errUnreadable }

func TestReadPostingPassesReadErrors(t *testing.T) {
	if _, err := index.ReadPosting(unreadable{}, 16, 1000); !errors.Is(err, errUnreadable) {
		t.Errorf("got %v", err)
	}
	if _, err := index.ReadPosting(bytes.NewReader(words(1)), 16, 1000); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that shrank gave %v", err)
	}
}

func TestListFileRoundTrip(t *testing.T) {
	// Long lists cross the pieces in which files are read and written.
	long := make([]store.RecordID, 40_000)
	for i := range long {
		long[i] = store.RecordID(3*i + 1)
	}
	check := func(t rapid.TB, ids []store.RecordID) {
		var last store.RecordID
		if len(ids) > 0 {
			last = ids[len(ids)-1]
		}
		p := posting(ids, store.Position(last)+3)
		var file bytes.Buffer
		if n, err := p.WriteTo(&file); err != nil || n != int64(file.Len()) {
			t.Fatalf("wrote %d of %d bytes: %v", n, file.Len(), err)
		}
		if !bytes.Equal(file.Bytes(), p.AppendTo(nil)) {
			t.Fatal("WriteTo and AppendTo disagree")
		}
		for _, read := range []func() (*index.Posting, error){
			func() (*index.Posting, error) { return index.DecodePosting(file.Bytes(), p.CheckedThrough()) },
			func() (*index.Posting, error) {
				return index.ReadPosting(bytes.NewReader(file.Bytes()), int64(file.Len()), p.CheckedThrough())
			},
		} {
			again, err := read()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(idsOf(again), ids) || again.CheckedThrough() != p.CheckedThrough() {
				t.Fatalf("read back as %v through %d", idsOf(again), again.CheckedThrough())
			}
		}
	}
	check(t, long)
	rapid.Check(t, func(t *rapid.T) { check(t, drawIDs(t)) })
}

func TestWriteToStopsAtAnError(t *testing.T) {
	p := posting([]store.RecordID{1, 2, 3}, 3)
	if _, err := p.WriteTo(full{}); !errors.Is(err, errUnreadable) {
		t.Errorf("got %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errUnreadable }

func FuzzDecodePosting(f *testing.F) {
	f.Add(words(0), uint64(0))
	f.Add(words(1, 2, 9, 9), uint64(9))
	f.Add(words(1, 2, 9)[:20], uint64(9))
	f.Add(words(2, 1, 9), uint64(9))
	f.Add(words(5, math.MaxUint64), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, src []byte, highWater uint64) {
		p, err := index.DecodePosting(src, store.Position(highWater))
		pieces, pieceErr := index.ReadPosting(bytes.NewReader(src), int64(len(src)), store.Position(highWater))
		if (err == nil) != (pieceErr == nil) {
			t.Fatalf("whole: %v, in pieces: %v", err, pieceErr)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(p.AppendTo(nil), src) || !bytes.Equal(pieces.AppendTo(nil), src) {
			t.Fatalf("% x is written back as % x", src, p.AppendTo(nil))
		}
		if uint64(p.CheckedThrough()) > highWater || p.Len() > highWater {
			t.Fatalf("%d ids through %d of %d records", p.Len(), p.CheckedThrough(), highWater)
		}
	})
}
