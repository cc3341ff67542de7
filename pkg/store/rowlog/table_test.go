package rowlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Reading a log and appending its rows come to the same table, or to the same
// error at the same row.
func TestReadIsAppendOfEveryRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []byte
		end := uint64(0)
		spread := rapid.SampledFrom([]int{50, 5000}).Draw(t, "spread")
		for range rapid.IntRange(0, 200).Draw(t, "rows") {
			r := Row{Hash: hashOf(rapid.IntRange(0, spread).Draw(t, "hash")), Offset: end, Len: 1 + lengths(t)}
			log = r.AppendTo(log)
			end = r.End()
		}
		if len(log) > 0 && rapid.IntRange(0, 3).Draw(t, "damage") == 0 {
			log[rapid.IntRange(0, len(log)-1).Draw(t, "at")] ^= 0x10
		}
		var want Table
		var wantErr error
		for i := 0; i < len(log) && wantErr == nil; i += RowLen {
			row, err := Decode(log[i:])
			if err == nil {
				err = row.CheckInside(math.MaxInt64)
			}
			if err == nil {
				err = want.Append(row)
			}
			if err != nil {
				wantErr = &RowError{uint64(i / RowLen), err}
			}
		}
		got, _, err := read(log, math.MaxInt64)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("Read = %v, want %v", err, wantErr)
		}
		same(t, got, &want)
		// What comes next meets a table that is cut off as if never filled.
		next := Row{Hash: hashOf(spread + 1), Offset: want.End(), Len: 7}
		if want.End() < math.MaxInt64-7 && (got.Append(next) != nil || want.Append(next) != nil) {
			t.Fatal("another row is refused")
		}
		same(t, got, &want)
	})
}

// same compares tables, also what is passed on the way through them.
func same(t *rapid.T, got, want *Table) {
	id := store.RecordID(0)
	for r := range got.Ranges() {
		id++
		if row := want.Row(id); r != (Range{row.Offset, row.Len}) || got.Hash(id) != row.Hash {
			t.Fatalf("range %+v of row %d, want %+v", r, id, row)
		}
	}
	if store.Position(id) != want.Position() {
		t.Fatalf("%d ranges, want %d", id, want.Position())
	}
	if got.Position() != want.Position() || got.End() != want.End() || got.Digest(got.Position()) != want.Digest(want.Position()) {
		t.Fatalf("%d rows ending at %d, want %d at %d", got.Position(), got.End(), want.Position(), want.End())
	}
	for i := range uint64(want.Position()) {
		row := want.Row(ID(i))
		if got.Row(ID(i)) != row {
			t.Fatalf("row %d is %+v, want %+v", i, got.Row(ID(i)), row)
		}
		if id, ok := got.Lookup(row.Hash); !ok || id != ID(i) {
			t.Fatalf("Lookup of row %d = %d, %v", i, id, ok)
		}
	}
}

// Two kinds of record may share a digest; they are two records all the same.
func TestKindsAreToldApart(t *testing.T) {
	var table Table
	var digest record.Digest
	for i, kind := range []record.Kind{record.Seal, record.Blob, record.Plex} {
		if err := table.Append(Row{record.MakeHash(kind, digest), uint64(i), 1}); err != nil {
			t.Fatal(err)
		}
	}
	for i, kind := range []record.Kind{record.Seal, record.Blob, record.Plex} {
		if id, ok := table.Lookup(record.MakeHash(kind, digest)); !ok || id != store.RecordID(i+1) {
			t.Errorf("Lookup of %v = %d, %v", kind, id, ok)
		}
	}
	for _, h := range []record.Hash{{}, record.Hash(bytes.Repeat([]byte("-"), record.HashLen))} {
		if id, ok := table.Lookup(h); ok {
			t.Errorf("%q is record #%d", h, id)
		}
		if err := table.Append(Row{h, 3, 1}); err == nil || table.Position() != 3 {
			t.Errorf("%q: %v", h, err)
		}
	}
}

// A duplicate is the first fault of the log, although the index is made last.
func TestADuplicateComesBeforeLaterDamage(t *testing.T) {
	for name, spoil := range map[string]func(log []byte) []byte{
		"a bad row":   func(log []byte) []byte { log[5*RowLen] = 'x'; return log },
		"a duplicate": func(log []byte) []byte { copy(log[5*RowLen:], log[:record.HashLen]); return log },
	} {
		log := logOf(1, 2, 3, 4, 5, 6)
		copy(log[3*RowLen:], log[RowLen:RowLen+record.HashLen])
		size := int64(len(log))
		table, _, err := Read(bytes.NewReader(spoil(log)), size, 100)
		var bad *RowError
		if !errors.As(err, &bad) || bad.Index != 3 || table.Position() != 3 || table.End() != 6 {
			t.Errorf("%s: %v, %d rows that end at %d", name, err, table.Position(), table.End())
		}
	}
}

// generated is a log of n rows that takes no memory.
type generated int

func (g generated) ReadAt(p []byte, off int64) (int, error) {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
	row := Row{Hash: hashOf(0), Len: 200}
	b := p[:0]
	for i := uint64(off / RowLen); len(b) < len(p); i++ {
		for c := range 5 {
			row.Hash[9+c] = alphabet[i>>(6*c)%64]
		}
		row.Offset = i * row.Len
		b = row.AppendTo(b)
	}
	return len(p), nil
}

// The statement of the package comment holds at every size, but for a part of
// a page and of a buffer: for what stays, and for all that was ever allocated
// to get there. Nothing is copied, and no row is an object.
func TestBytesPerRow(t *testing.T) {
	const rowBytes = 32 + 4 + 8.0/groupRows + 6
	var before, after runtime.MemStats
	for _, rows := range []uint64{1e6, 2e6, 4e6} {
		runtime.GC()
		runtime.ReadMemStats(&before)
		table, _, err := Read(generated(rows), int64(rows)*RowLen, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		stated := uint64(rowBytes * float64(rows))
		stay, all := after.HeapAlloc-before.HeapAlloc, after.TotalAlloc-before.TotalAlloc
		objects := after.Mallocs - before.Mallocs
		t.Logf("%d rows: %.2f bytes a row stay of %.2f, in %d objects", rows, float64(stay)/float64(rows), float64(all)/float64(rows), objects)
		if stay < stated || stay > stated+2<<20 || all > stated+6<<20 || objects > 1000 {
			t.Errorf("%d rows take %d bytes of %d allocated, in %d objects; stated are %d bytes", rows, stay, all, objects, stated)
		}
		if id, ok := table.Lookup(table.Hash(store.RecordID(rows))); !ok || id != store.RecordID(rows) {
			t.Errorf("the last row is #%d, %v", id, ok)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	const rows = 1e6
	log := make([]byte, 0, rows*RowLen)
	for i := range int(rows) {
		log = Row{Hash: hashOf(i), Offset: uint64(i) * 200, Len: 200}.AppendTo(log)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Read(bytes.NewReader(log), int64(len(log)), math.MaxInt64); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

func BenchmarkTable(b *testing.B) {
	const rows = 1 << 20
	table, _, err := Read(generated(rows), rows*RowLen, math.MaxInt64)
	if err != nil {
		b.Fatal(err)
	}
	hashes := make([]record.Hash, 1<<12)
	for i := range hashes {
		hashes[i] = hashOf(int(binary.LittleEndian.Uint16([]byte{byte(i * 37), byte(i)})) * 15)
	}
	b.Run("row", func(b *testing.B) {
		id := uint64(0)
		for b.Loop() {
			id = (id*6364136223846793005 + 1442695040888963407)
			table.Row(store.RecordID(id>>44 + 1))
		}
	})
	b.Run("lookup", func(b *testing.B) {
		i := 0
		for b.Loop() {
			table.Lookup(hashes[i%len(hashes)])
			i++
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			for range table.All() {
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	})
}
