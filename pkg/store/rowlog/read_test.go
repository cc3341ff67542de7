package rowlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// logOf returns the log of records with these lengths.
func logOf(lengths ...uint64) []byte {
	var b []byte
	end := uint64(0)
	for i, n := range lengths {
		b = Row{Hash: hashOf(i), Offset: end, Len: n}.AppendTo(b)
		end += n
	}
	return b
}

func read(log []byte, capacity uint64) (*Table, uint64, error) {
	return Read(bytes.NewReader(log), int64(len(log)), capacity)
}

func TestReadAcceptsRows(t *testing.T) {
	table, torn, err := read(logOf(1, 2, 3), 6)
	if err != nil || torn != 0 {
		t.Fatal(torn, err)
	}
	if table.Position() != 3 || table.End() != 6 {
		t.Errorf("position %d, end %d", table.Position(), table.End())
	}
	for i := range 3 {
		if id, ok := table.Lookup(hashOf(i)); !ok || id != store.RecordID(i+1) {
			t.Errorf("Lookup of record %d = %d, %v", i, id, ok)
		}
	}
	if id, ok := table.Lookup(hashOf(3)); ok {
		t.Errorf("found an absent hash at %d", id)
	}
}

func TestReadOfAnEmptyLog(t *testing.T) {
	table, torn, err := read(nil, 0)
	if err != nil || torn != 0 || table.Position() != 0 || table.End() != 0 {
		t.Errorf("%+v, %d, %v", table, torn, err)
	}
	if _, ok := table.Lookup(hashOf(0)); ok {
		t.Error("an empty table finds something")
	}
}

func TestReadTellsTheTornRow(t *testing.T) {
	whole := logOf(1, 2)
	for n := range len(whole) + 1 {
		table, torn, err := read(whole[:n], 100)
		if err != nil {
			t.Fatal(err)
		}
		if uint64(table.Position()) != uint64(n/RowLen) || torn != uint64(n%RowLen) {
			t.Errorf("%d bytes: %d rows and %d torn bytes", n, table.Position(), torn)
		}
	}
}

func TestReadNamesTheBadRow(t *testing.T) {
	damage := func(f func(b []byte)) []byte {
		b := logOf(4, 5, 6)
		f(b)
		return b
	}
	row := func(i int, r Row) func([]byte) { return func(b []byte) { copy(b[i*RowLen:], r.AppendTo(nil)) } }
	for _, c := range []struct {
		name  string
		log   []byte
		index uint64
		want  string
	}{
		{"first offset", damage(row(0, Row{hashOf(0), 1, 4})), 0, "want 0"},
		{"gap", damage(row(1, Row{hashOf(1), 5, 5})), 1, "want 4"},
		{"overlap", damage(row(1, Row{hashOf(1), 3, 5})), 1, "want 4"},
		{"duplicate", damage(row(2, Row{hashOf(0), 9, 6})), 2, "record #1"},
		{"beyond the arena", damage(row(2, Row{hashOf(2), 9, 8})), 2, "beyond the arena of 16 bytes"},
		{"not canonical", damage(func(b []byte) { b[RowLen] = 'b' }), 1, "not of the form"},
		{"length zero", damage(row(1, Row{hashOf(1), 4, 0})), 1, "length 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, _, err := read(c.log, 16)
			if uint64(table.Position()) != c.index {
				t.Errorf("%d rows before the bad one, want %d", table.Position(), c.index)
			}
			var bad *RowError
			if !errors.As(err, &bad) || bad.Index != c.index || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Read = %v, want row %d: %s", err, c.index, c.want)
			}
			if bad != nil && bad.Offset() != c.index*RowLen {
				t.Errorf("offset %d", bad.Offset())
			}
		})
	}
}

// A log can shrink while it is read, or the disk can fail.
func TestReadReportsShortReads(t *testing.T) {
	log := logOf(1, 1)
	_, _, err := Read(bytes.NewReader(log[:RowLen]), int64(len(log)), 100)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Read = %v", err)
	}
	var bad *RowError
	if errors.As(err, &bad) {
		t.Error("a short read is blamed on a row")
	}
}

func TestScanStopsAtAnError(t *testing.T) {
	log, own := logOf(1, 1, 1), errors.New("own")
	seen := 0
	_, err := Scan(bytes.NewReader(log), int64(len(log)), func(index uint64, _ []byte) error {
		seen++
		if index == 1 {
			return own
		}
		return nil
	})
	if err != own || seen != 2 {
		t.Errorf("%d rows, %v", seen, err)
	}
}

// countingReader checks that nothing is read in larger pieces than promised.
type countingReader struct {
	io.ReaderAt
	calls, most int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.calls, c.most = c.calls+1, max(c.most, len(p))
	return c.ReaderAt.ReadAt(p, off)
}

func TestScanReadsInBoundedPieces(t *testing.T) {
	const rows = 5 * readBytes / RowLen / 2
	var log []byte
	hash := hashOf(0)
	for i := range rows {
		log = Row{Hash: hash, Offset: uint64(i), Len: 1}.AppendTo(log)
	}
	r := &countingReader{ReaderAt: bytes.NewReader(log)}
	n := uint64(0)
	_, err := Scan(r, int64(len(log)), func(index uint64, encoded []byte) error {
		if row, err := Decode(encoded); err != nil || row.Offset != n || index != n {
			return fmt.Errorf("row %d is %+v, %v", index, row, err)
		}
		n++
		return nil
	})
	if err != nil || n != rows {
		t.Fatal(n, err)
	}
	if r.calls != 3 || r.most != readBytes {
		t.Errorf("%d reads, the largest of %d bytes", r.calls, r.most)
	}
}

// lengths draws lengths that fit a resident word and some that do not.
func lengths(t *rapid.T) uint64 {
	n := rapid.Uint64Range(0, 9).Draw(t, "len")
	switch rapid.IntRange(0, 9).Draw(t, "size") {
	case 0:
		return n + longWord - 4
	case 1:
		return n + 1<<40
	}
	return n
}

// The table against plain slices and maps, over tables that grow past pages.
func TestTableAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table
		var oracle []Row
		ids := map[record.Hash]store.RecordID{}
		end := uint64(0)
		for range rapid.IntRange(0, 3*minSlots).Draw(t, "rows") {
			r := Row{Hash: hashOf(rapid.IntRange(0, 400).Draw(t, "hash")), Offset: end, Len: lengths(t)}
			if rapid.IntRange(0, 9).Draw(t, "shift") == 0 {
				r.Offset++
			}
			want := r.Len > 0 && r.Offset == end && ids[r.Hash] == 0
			if err := table.Append(r); (err == nil) != want {
				t.Fatalf("Append(%+v) at end %d = %v", r, end, err)
			}
			if want {
				oracle = append(oracle, r)
				ids[r.Hash] = store.RecordID(len(oracle))
				end = r.End()
			}
		}
		if table.Position() != store.Position(len(oracle)) || table.End() != end {
			t.Fatalf("position %d, end %d, want %d, %d", table.Position(), table.End(), len(oracle), end)
		}
		for i, r := range oracle {
			id := ID(uint64(i))
			if table.Row(id) != r || table.Hash(id) != r.Hash {
				t.Fatalf("row of #%d is %+v, want %+v", id, table.Row(id), r)
			}
		}
		for n := range 402 {
			if id, ok := table.Lookup(hashOf(n)); id != ids[hashOf(n)] || ok != (id != 0) {
				t.Fatalf("Lookup(%d) = %d, %v, want %d", n, id, ok, ids[hashOf(n)])
			}
		}
	})
}

func TestTableAcrossPages(t *testing.T) {
	var table Table
	const rows = 2*pageRows + 3
	for i := range rows {
		if err := table.Append(Row{Hash: hashOf(i), Offset: uint64(i), Len: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range rows {
		if r := table.Row(ID(uint64(i))); r.Hash != hashOf(i) || r.Offset != uint64(i) {
			t.Fatalf("row %d is %+v", i, r)
		}
		if id, _ := table.Lookup(hashOf(i)); id != ID(uint64(i)) {
			t.Fatalf("record %d is found at #%d", i, id)
		}
	}
}

// The digest of a prefix is that of the bytes which record-log begins with.
func TestTableDigest(t *testing.T) {
	var table Table
	var log []byte
	for i := range pageRows + 3 {
		row := Row{Hash: hashOf(i), Offset: uint64(i), Len: 1}
		log = row.AppendTo(log)
		if err := table.Append(row); err != nil {
			t.Fatal(err)
		}
	}
	for _, through := range []int{0, 1, pageRows - 1, pageRows, pageRows + 1, pageRows + 3} {
		if got, want := table.Digest(store.Position(through)), blake3.Sum256(log[:through*RowLen]); got != want {
			t.Errorf("through %d: %x, want %x", through, got, want)
		}
	}
}

func TestRowOfAnUnknownIDPanics(t *testing.T) {
	var table Table
	if err := table.Append(Row{Hash: hashOf(0), Len: 1}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []store.RecordID{0, 2} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Row(%d) of a table of one answered", id)
				}
			}()
			table.Row(id)
		}()
	}
}

// FuzzRead reads any bytes as a log: it never panics, and what it accepts is
// exactly a log.
func FuzzRead(f *testing.F) {
	f.Add(logOf(1, 2, 3), uint64(6))
	f.Add(logOf(1, 2)[:100], uint64(100))
	f.Add([]byte("B."), uint64(0))
	f.Add(Row{hashOf(0), 0, 1 << 62}.AppendTo(nil), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, log []byte, capacity uint64) {
		table, torn, err := read(log, capacity)
		if err != nil {
			var bad *RowError
			if !errors.As(err, &bad) || bad.Offset() >= uint64(len(log)) {
				t.Errorf("Read of bytes in memory = %v", err)
			}
			return
		}
		if uint64(table.Position())*RowLen+torn != uint64(len(log)) || torn >= RowLen {
			t.Errorf("%d bytes are %d rows and %d more", len(log), table.Position(), torn)
		}
		if table.End() > capacity {
			t.Errorf("end %d beyond %d", table.End(), capacity)
		}
		var again []byte
		for i := range uint64(table.Position()) {
			again = table.Row(ID(i)).AppendTo(again)
		}
		if !bytes.HasPrefix(log, again) {
			t.Error("the rows encoded again are other bytes")
		}
	})
}
