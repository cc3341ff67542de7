package rowlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// plainRead is what Read means: one row after the other.
func plainRead(log []byte, capacity uint64) (*Table, error) {
	table := &Table{}
	for i := range uint64(len(log)) / RowLen {
		row, err := Decode(log[i*RowLen:])
		if err == nil {
			err = row.CheckInside(capacity)
		}
		if err == nil {
			err = table.Append(row)
		}
		if err != nil {
			return table, &RowError{i, err}
		}
	}
	return table, nil
}

// Any number of workers reads any log as one row after the other is read: the
// same rows, the same index, the same first error.
func TestWorkersAgree(t *testing.T) {
	const most = pageRows + 5000
	sound := make([]byte, most*RowLen)
	if _, err := generated(most).ReadAt(sound, 0); err != nil {
		t.Fatal(err)
	}
	sizes := []int{1, groupRows, leastBlock - 1, leastBlock + 1, 5 * leastBlock, readBytes / RowLen, readBytes/RowLen + 1, most}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom(sizes).Draw(rt, "rows")
		log := bytes.Clone(sound[:n*RowLen])
		for range rapid.IntRange(0, 3).Draw(rt, "damages") {
			row := log[rapid.IntRange(0, n-1).Draw(rt, "row")*RowLen:][:RowLen]
			switch rapid.SampledFrom([]string{"hash", "length", "offset", "repetition", "long"}).Draw(rt, "what") {
			case "hash":
				row[rapid.IntRange(0, record.HashLen-1).Draw(rt, "byte")] ^= 1
			case "length":
				binary.LittleEndian.PutUint64(row[56:], rapid.Uint64Range(0, 400).Draw(rt, "length"))
			case "offset":
				binary.LittleEndian.PutUint64(row[48:], rapid.Uint64().Draw(rt, "offset"))
			case "repetition":
				copy(row[:record.HashLen], log[rapid.IntRange(0, n-1).Draw(rt, "of")*RowLen:][:record.HashLen])
			case "long":
				binary.LittleEndian.PutUint64(row[56:], longWord+1)
			}
		}
		capacity := rapid.SampledFrom([]uint64{math.MaxInt64, uint64(n) * 200, uint64(n) * 150}).Draw(rt, "capacity")
		want, wantErr := plainRead(log, capacity)
		got, _, err := readWith(bytes.NewReader(log), int64(len(log)), capacity, rapid.IntRange(1, 5).Draw(rt, "workers"))
		var bad, wantBad *RowError
		if errors.As(err, &bad) != errors.As(wantErr, &wantBad) || bad != nil && (bad.Index != wantBad.Index || bad.Error() != wantBad.Error()) {
			rt.Fatalf("%v, one after the other: %v", err, wantErr)
		}
		if got.Position() != want.Position() || got.End() != want.End() {
			rt.Fatalf("%d rows that end at %d, want %d at %d", got.Position(), got.End(), want.Position(), want.End())
		}
		for id := range rowsOf(want) {
			row := want.Row(id)
			if got.Row(id) != row {
				rt.Fatalf("row %d is %v, want %v", id, got.Row(id), row)
			}
			if found, ok := got.Lookup(row.Hash); !ok || found != id {
				rt.Fatalf("row %d is found as %d, %v", id, found, ok)
			}
		}
		// The table goes on as any other.
		next := Row{Hash: hashOf(12345), Offset: got.End(), Len: 1}
		if err := errors.Join(got.Append(next), want.Append(next)); err != nil {
			rt.Fatal(err)
		}
		if got.Digest(got.Position()) != want.Digest(want.Position()) {
			rt.Fatal("an appended row makes another table")
		}
	})
}

// rowsOf yields some ids of a table: the first and last ones, and every 97th.
func rowsOf(t *Table) func(func(store.RecordID) bool) {
	return func(yield func(store.RecordID) bool) {
		last := store.RecordID(t.Position())
		for id := store.RecordID(1); id <= last; id++ {
			if (id < 100 || id%97 == 0 || id+100 > last) && !yield(id) {
				return
			}
		}
	}
}

// A row that finds its part of the index full up to the end goes where a search
// finds it, and two of them with one hash are told apart.
func TestBuildersPushRowsOn(t *testing.T) {
	const rows = 8 * leastBlock
	table, _, err := readWith(generated(rows), rows*RowLen, math.MaxInt64, 1)
	if err != nil {
		t.Fatal(err)
	}
	pushed := 0
	for workers := 2; workers <= 8; workers++ {
		var x hashIndex
		if i, id := x.build(&table.rows, workers); id != 0 {
			t.Fatalf("%d workers: row %d repeats #%d", workers, i, id)
		}
		for i := range uint64(rows) {
			k := table.rows.key(i)
			if id := x.find(&table.rows, &k); id != ID(i) {
				t.Fatalf("%d workers: row %d is found as #%d", workers, i, id)
			}
			home := x.home(sum(&k))
			for w := range uint64(workers) {
				to := (w + 1) * uint64(len(x.slots)) / uint64(workers)
				slot, _ := x.search(&table.rows, &k)
				if home < to && slot >= to {
					pushed++
				}
			}
		}
	}
	if pushed == 0 {
		t.Error("no row was pushed on")
	}
}

func BenchmarkReadWorkers(b *testing.B) {
	const rows = 1 << 20
	log := make([]byte, rows*RowLen)
	if _, err := generated(rows).ReadAt(log, 0); err != nil {
		b.Fatal(err)
	}
	for name, workers := range map[string]int{"workers=1": 1, "workers=all": runtime.GOMAXPROCS(0)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := readWith(bytes.NewReader(log), int64(len(log)), math.MaxInt64, workers); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
