package eval

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// TestTextsAgainstMap interns, looks up and cuts back like a map would.
func TestTextsAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, oracle := newTexts(), map[string]value{}
		text := rapid.SliceOfN(rapid.Byte(), 0, 3)
		mark, marked := table.mark(), map[string]value{}
		t.Repeat(map[string]func(*rapid.T){
			"intern": func(t *rapid.T) {
				s := text.Draw(t, "text")
				if rapid.IntRange(0, 50).Draw(t, "long") == 0 {
					s = bytes.Repeat(append(s, 'x'), textChunk/2)
				}
				v := table.intern(s)
				if want, known := oracle[string(s)]; known && v != want {
					t.Fatalf("%.20q is %d, was %d", s, v, want)
				}
				oracle[string(s)] = v
			},
			"lookup": func(t *rapid.T) {
				s := text.Draw(t, "text")
				v, ok := table.lookup(s)
				if want, known := oracle[string(s)]; ok != known || ok && v != want {
					t.Fatalf("%q is %d %t, want %d %t", s, v, ok, want, known)
				}
			},
			"mark": func(*rapid.T) { mark, marked = table.mark(), copyOf(oracle) },
			"cut":  func(*rapid.T) { table.cut(mark); oracle = copyOf(marked) },
			"fork": func(*rapid.T) {
				if table.base == nil {
					base := table
					table = base.fork()
					mark, marked = table.mark(), copyOf(oracle)
				}
			},
			"": func(t *rapid.T) {
				seen := map[value]bool{}
				for s, v := range oracle {
					if v.isRecord() || seen[v] || string(table.text(v)) != s {
						t.Fatalf("%.20q is %d, whose text is %.20q", s, v, table.text(v))
					}
					seen[v] = true
				}
			},
		})
	})
}

func copyOf(m map[string]value) map[string]value {
	out := map[string]value{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// TestManyTexts passes chunks and hash tables of every size.
func TestManyTexts(t *testing.T) {
	table := newTexts()
	const n = 200_000
	for i := range n {
		if v := table.intern(fmt.Appendf(nil, "text %d", i)); v != textBit|value(i) {
			t.Fatalf("text %d is %d", i, v)
		}
	}
	for i := range n {
		want := fmt.Sprintf("text %d", i)
		if got := table.text(textBit | value(i)); string(got) != want {
			t.Fatalf("text %d is %q", i, got)
		}
	}
}

// TestRelationAgainstMap adds tuples and walks indexes, also while it grows.
func TestRelationAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arity := rapid.IntRange(0, 3).Draw(t, "arity")
		r := newRelation("r", arity)
		seen := map[string]bool{}
		tuple := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) value { return value(rapid.IntRange(1, 6).Draw(t, "value")) }), arity, arity)
		var columns []int
		for c := range arity {
			if rapid.Bool().Draw(t, "indexed") {
				columns = append(columns, c)
			}
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			row := tuple.Draw(t, "tuple")
			key := fmt.Sprint(row)
			if r.has(row) != seen[key] {
				t.Fatalf("has %v: %t", row, r.has(row))
			}
			if r.add(row) == seen[key] {
				t.Fatalf("adding %v", row)
			}
			seen[key] = true
			if r.len() != len(seen) {
				t.Fatalf("%d tuples, want %d", r.len(), len(seen))
			}
			if len(columns) > 0 && r.len()%3 == 0 {
				checkIndex(t, r, columns, row)
			}
		}
	})
}

func checkIndex(t *rapid.T, r *relation, columns []int, row []value) {
	var key []value
	for _, c := range columns {
		key = append(key, row[c])
	}
	var want []int
	for i := r.len() - 1; i >= 0; i-- {
		same := true
		for k, c := range columns {
			same = same && r.row(i)[c] == key[k]
		}
		if same {
			want = append(want, i)
		}
	}
	var got []int
	x := r.index(columns)
	for n := x.first(key); n != 0; n = x.after(n, key) {
		got = append(got, int(n-1))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("tuples with %v in %v: %v, want %v", key, columns, got, want)
	}
}

// TestLargeRelation passes chunks and hash tables, and adds while it walks.
func TestLargeRelation(t *testing.T) {
	r := newRelation("r", 2)
	const n = 5 * chunkRows
	for i := range n {
		r.add([]value{value(i % 7), value(i)})
	}
	x := r.index([]int{0})
	count := 0
	for at := x.first([]value{3}); at != 0; at = x.after(at, []value{3}) {
		if got := r.row(int(at - 1))[0]; got != 3 {
			t.Fatalf("tuple %d has %d", at-1, got)
		}
		r.add([]value{3, value(n + count)})
		r.index([]int{0})
		count++
	}
	if want := (n + 3) / 7; count != want {
		t.Errorf("%d tuples, want %d", count, want)
	}
}

// TestAssociations: an id is one record, for as long as it is asked.
func TestAssociations(t *testing.T) {
	a := newAssociations(3 * associationsPerPage)
	hash := func(n byte) record.Hash { return record.MakeHash(record.Blob, record.Digest{n}) }
	for id := store.RecordID(1); id < 3*associationsPerPage; id += 1000 {
		if err := a.learn(id, hash(byte(id))); err != nil {
			t.Fatal(err)
		}
	}
	for id := store.RecordID(1); id < 3*associationsPerPage; id += 1000 {
		if err := a.learn(id, hash(byte(id))); err != nil {
			t.Fatal(err)
		}
		if err := a.learn(id, hash(byte(id)+1)); err == nil {
			t.Errorf("id %d became another record", id)
		}
	}
}

// TestNamesAreBounded: what was handed out stays valid when the cache is
// dropped.
func TestNamesAreBounded(t *testing.T) {
	s := &session{known: newAssociations(4 * namesKept), batch: 100, meter: meter{allowed: 1 << 40}}
	s.store = numbered{}
	var kept [][]byte
	for id := value(1); id < 3*namesKept; id += 100 {
		var values []value
		for v := id; v < id+100; v++ {
			values = append(values, v)
		}
		if err := s.nameRecords(values); err != nil {
			t.Fatal(err)
		}
		if n := len(s.names.texts); n > namesKept+100 {
			t.Fatalf("%d names", n)
		}
		kept = append(kept, s.text(id))
	}
	for i, text := range kept {
		if want := numberedRecord(store.RecordID(1 + 100*i)); string(text) != want.Hash.String() {
			t.Fatalf("text of #%d is %q", 1+100*i, text)
		}
	}
}

// numbered is a store in which every id is a record.
type numbered struct{}

func (numbered) Execute(op store.Op) (store.Result, error) {
	var res store.LoadedResult
	for _, ref := range op.(store.LoadRecordsByStoreID).Refs {
		res.Records = append(res.Records, numberedRecord(ref.ID))
	}
	return res, nil
}

func numberedRecord(id store.RecordID) store.Record {
	h := record.MakeHash(record.Blob, record.Digest{byte(id), byte(id >> 8), byte(id >> 16)})
	return store.Record{ID: id, Hash: h, Bytes: record.AppendGlyphLine(nil, h)}
}
