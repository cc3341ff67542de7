package record

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// scanAll reads a stream to its end and returns the records that were whole
// and right.
func scanAll(r io.Reader) (records [][]byte, err error) {
	s := NewScanner(r)
	for {
		item, err := s.Next()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, item); err != nil {
			return records, err
		}
		records = append(records, b.Bytes())
	}
}

// someRecords returns one of each kind and a large one.
func someRecords(t testing.TB) []View {
	p := plex(t, "abc", Header{"Topic", "x"})
	return []View{blob(t, ""), p, seal(t, p), blob(t, strings.Repeat("large", 200_000)), blob(t, string(p.Bytes()))}
}

func join(views []View) (stream []byte) {
	for _, v := range views {
		stream = append(stream, v.Bytes()...)
	}
	return stream
}

func TestScanner(t *testing.T) {
	views := someRecords(t)
	stream := join(views)
	for name, r := range map[string]io.Reader{
		"whole":      bytes.NewReader(stream),
		"one byte":   iotest.OneByteReader(bytes.NewReader(stream)),
		"half":       iotest.HalfReader(bytes.NewReader(stream)),
		"early EOF":  iotest.DataErrReader(bytes.NewReader(stream)),
		"no records": strings.NewReader(""),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := scanAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if name == "no records" {
				if got != nil {
					t.Errorf("%d records in an empty stream", len(got))
				}
				return
			}
			if len(got) != len(views) {
				t.Fatalf("%d records, want %d", len(got), len(views))
			}
			for i, v := range views {
				if !bytes.Equal(got[i], v.Bytes()) {
					t.Errorf("record %d differs", i)
				}
			}
		})
	}
}

// TestScannerItem checks what an item tells, and that reading in small pieces,
// in part or not at all makes no difference.
func TestScannerItem(t *testing.T) {
	views := someRecords(t)
	stream := join(views)
	rapid.Check(t, func(rt *rapid.T) {
		s := NewScanner(bytes.NewReader(stream))
		var at int64
		for _, v := range views {
			item, err := s.Next()
			if err != nil {
				rt.Fatal(err)
			}
			head := item.Head()
			if item.Offset() != at || s.Offset() != at || item.Len() != int64(len(v.Bytes())) || item.Hash() != v.Hash() ||
				head.DataLen() != v.DataLen() || len(head.Data()) != 0 || !bytes.HasPrefix(v.Bytes(), head.Bytes()) {
				rt.Fatalf("item of %s at %d says %s, %d bytes at %d", v.Hash(), at, item.Hash(), item.Len(), item.Offset())
			}
			at += item.Len()
			part := rapid.IntRange(0, len(v.Bytes())).Draw(rt, "part")
			got := make([]byte, part)
			if _, err := io.ReadFull(item, got); err != nil || !bytes.Equal(got, v.Bytes()[:part]) {
				rt.Fatalf("reading %d bytes: %v", part, err)
			}
		}
		for range 2 {
			if _, err := s.Next(); err != io.EOF {
				rt.Fatalf("end of stream: %v", err)
			}
		}
	})
}

func TestScannerRefuses(t *testing.T) {
	good := plex(t, "abc")
	n := len(good.Bytes())
	flipped := append(join([]View{good}), good.Bytes()...)
	flipped[len(flipped)-1] ^= 1
	tooLong := string(raw(Plex, goodHeaders+strings.Repeat("A: "+strings.Repeat("x", 1000)+"\n", 70)))
	for name, c := range map[string]struct {
		stream string
		whole  int // records before the error
		want   string
	}{
		"garbage":          {"garbage", 0, "stream byte 0: not a glyph line"},
		"more garbage":     {strings.Repeat("garbage", 100), 0, "stream byte 0: not a glyph line"},
		"garbage behind":   {string(good.Bytes()) + "\n", 1, "stream byte 179: not a glyph line"},
		"cut in the head":  {string(good.Bytes()) + string(good.Bytes()[:100]), 1, "stream byte 279: ends inside a record"},
		"cut in the data":  {string(good.Bytes()[:n-1]), 0, "stream byte 178: ends inside a record"},
		"wrong digest":     {string(flipped), 1, "stream byte 179: bytes do not match"},
		"broken rule":      {string(good.Bytes()) + string(raw(Plex, goodHeaders+"A:  x\n"+string(blob(t, "").Bytes()))), 1, "stream byte 284: header \"A\" has more than one space"},
		"endless headers":  {tooLong, 0, "headers are too long"},
		"endless line":     {string(raw(Plex, strings.Repeat("x", 100_000))), 0, "headers are too long"},
		"data over limit":  {string(raw(Blob, "Data-Length: 33554433\n\n")), 0, "at most 33554432"},
		"length like hole": {string(raw(Blob, "Data-Length: 999999999999999999\n\n")), 0, "at most 33554432"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := scanAll(strings.NewReader(c.stream))
			var format *FormatError
			if len(got) != c.whole || !errors.As(err, &format) || !format.Stream || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d records and %v, want %d and %q", len(got), err, c.whole, c.want)
			}
		})
	}
}

// TestScannerUnreadDigest: a record that is skipped is proven all the same,
// and the error stays.
func TestScannerUnreadDigest(t *testing.T) {
	bad := append([]byte(nil), blob(t, "abc").Bytes()...)
	bad[len(bad)-1] ^= 1
	s := NewScanner(bytes.NewReader(bad))
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Next(); !errors.Is(err, ErrHashMismatch) {
			t.Errorf("got %v, want a mismatch", err)
		}
	}
}

var errDevice = errors.New("device gone")

func TestScannerReadErrors(t *testing.T) {
	stream := join([]View{plex(t, "abc"), blob(t, strings.Repeat("large", 100_000))})
	for _, cut := range []int{0, 10, 400, len(stream) - 1} {
		r := io.MultiReader(bytes.NewReader(stream[:cut]), iotest.ErrReader(errDevice))
		if _, err := scanAll(r); !errors.Is(err, errDevice) {
			t.Errorf("error behind %d bytes: got %v", cut, err)
		}
	}
	s := NewScanner(bytes.NewReader(stream))
	item, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := item.WriteTo(failingWriter{}); !errors.Is(err, errDevice) {
		t.Errorf("failing writer: %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDevice }

// TestScannerAllocates: cutting does not allocate by the record.
func TestScannerAllocates(t *testing.T) {
	one := plex(t, "abc").Bytes()
	s := NewScanner(bytes.NewReader(bytes.Repeat(one, 2000)))
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}); n > 2 {
		t.Errorf("%v allocations a record", n)
	}
}
