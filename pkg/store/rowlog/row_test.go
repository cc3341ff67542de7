package rowlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/record"
)

// hashOf is a hash for n. A real digest for each would take most of the time
// of these tests.
func hashOf(n int) record.Hash {
	var d record.Digest
	for i := range 4 {
		binary.LittleEndian.PutUint64(d[8*i:], uint64(n+i+1)*0x9e3779b97f4a7c15)
	}
	return record.MakeHash([]record.Kind{record.Blob, record.Plex, record.Seal}[n%3], d)
}

// The layout of a row, written out by hand.
const exampleRow = "422e" + // "B."
	"55527562566b63536a766d4c6436414c6f645342316c41527e4468696f595a504d5641314d6d5274357557" +
	"2e4833" + // ".H3"
	"0807060504030201" + "1011000000000000"

func TestRowLayout(t *testing.T) {
	src, err := hex.DecodeString(exampleRow)
	if err != nil || len(src) != RowLen {
		t.Fatalf("%d bytes, %v", len(src), err)
	}
	r, err := Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	if r.Hash != record.Hash(src[:48]) || r.Offset != 0x0102030405060708 || r.Len != 0x1110 {
		t.Errorf("decoded %+v", r)
	}
	if r.End() != 0x0102030405060708+0x1110 {
		t.Errorf("End = %#x", r.End())
	}
	if got := r.AppendTo([]byte("before")); string(got) != "before"+string(src) {
		t.Errorf("encoded %x", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := Row{Hash: hashOf(1), Offset: 7, Len: 9}
	edit := func(f func(b []byte) []byte) []byte { return f(good.AppendTo(nil)) }
	for _, c := range []struct {
		name string
		src  []byte
		want string
	}{
		{"nothing", nil, "0 bytes"},
		{"one byte short", edit(func(b []byte) []byte { return b[:RowLen-1] }), "63 bytes"},
		{"zeros", make([]byte, RowLen), "not of the form"},
		{"unknown kind", edit(func(b []byte) []byte { b[0] = 'X'; return b }), "not of the form"},
		{"foreign character", edit(func(b []byte) []byte { b[9] = '-'; return b }), "not of the form"},
		{"length zero", edit(func(b []byte) []byte { copy(b[56:], make([]byte, 8)); return b }), "length 0"},
		{"greatest length", Row{Hash: good.Hash, Len: math.MaxUint64}.AppendTo(nil), "overflows"},
		{"end past a file offset", Row{Hash: good.Hash, Offset: math.MaxInt64, Len: 1}.AppendTo(nil), "overflows"},
		{"offset past a file offset", Row{Hash: good.Hash, Offset: math.MaxInt64 + 1, Len: 1}.AppendTo(nil), "overflows"},
		{"sum that wraps", Row{Hash: good.Hash, Offset: math.MaxUint64, Len: 2}.AppendTo(nil), "overflows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Decode(c.src); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Decode = %v, want %q", err, c.want)
			}
		})
	}
	last := Row{Hash: good.Hash, Offset: math.MaxInt64 - 1, Len: 1}
	if got, err := Decode(last.AppendTo(nil)); err != nil || got != last {
		t.Errorf("the last possible range: %v", err)
	}
}

func TestCheckInside(t *testing.T) {
	r := Row{Hash: hashOf(1), Offset: 90, Len: 10}
	if err := r.CheckInside(100); err != nil {
		t.Errorf("ends with the arena: %v", err)
	}
	if err := r.CheckInside(99); err == nil {
		t.Error("a row beyond the arena is accepted")
	}
}

func FuzzDecode(f *testing.F) {
	example, err := hex.DecodeString(exampleRow)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add(Row{Hash: hashOf(2), Offset: math.MaxInt64 - 1, Len: 1}.AppendTo(nil))
	f.Add(make([]byte, RowLen))
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := Decode(src)
		if err != nil {
			return
		}
		if got := r.AppendTo(nil); !bytes.Equal(got, src[:RowLen]) {
			t.Errorf("%x decoded and encoded is %x", src[:RowLen], got)
		}
		if r.Len == 0 || r.End() < r.Offset || r.End() > math.MaxInt64 {
			t.Errorf("accepted the range %d+%d", r.Offset, r.Len)
		}
	})
}
