package listdir_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// fixedRows are records whose field N is even or odd.
type fixedRows []store.Record

func newRows(n int) fixedRows {
	var rows fixedRows
	for i := range n {
		r := storetest.Plex(fmt.Sprint(i), storetest.Header{Name: "N", Value: [2]string{"odd", "even"}[i%2]})
		rows = append(rows, store.Record{ID: store.RecordID(i + 1), Hash: r.Hash, Bytes: r.Bytes})
	}
	return rows
}

func (r fixedRows) Position() store.Position                     { return store.Position(len(r)) }
func (r fixedRows) Lookup(record.Hash) (store.RecordID, error)   { return 0, nil }
func (r fixedRows) Load(id store.RecordID) (store.Record, error) { return r[id-1], nil }
func exact(value string) index.Key {
	return index.Key{Shape: store.FieldExact, Name: "N", Value: value}
}

func TestCheckComparesListsWithTheRecords(t *testing.T) {
	rows := newRows(10)
	for _, c := range []struct {
		name           string
		list           *index.Posting
		missing, extra uint64
		first          store.RecordID
	}{
		{"right", posting(10, 2, 4, 6, 8, 10), 0, 0, 0},
		{"right as far as it goes", posting(5, 2, 4), 0, 0, 0},
		{"right and new", posting(0), 0, 0, 0},
		{"lacks one", posting(10, 2, 4, 8, 10), 1, 0, 6},
		{"lacks the last", posting(10, 2, 4, 6, 8), 1, 0, 10},
		{"lacks all", posting(10), 5, 0, 2},
		{"has one too many", posting(10, 2, 3, 4, 6, 8, 10), 0, 1, 3},
		{"has another instead", posting(10, 2, 4, 6, 7, 10), 1, 1, 7},
		{"ends with one too many", posting(9, 2, 4, 6, 8, 9), 0, 1, 9},
	} {
		dir := filepath.Join(t.TempDir(), "indexes-v2")
		d := listdir.New(osfs.New(), dir)
		publish(t, d, exact("even"), c.list)
		publish(t, d, exact("odd"), posting(7, 1, 3, 5, 7))
		got, err := d.Check(rows)
		if err != nil || got.Lists != 2 {
			t.Fatalf("%s: %+v, %v", c.name, got, err)
		}
		if c.missing+c.extra == 0 {
			if len(got.Findings) != 0 {
				t.Errorf("%s: finds %+v", c.name, got.Findings)
			}
			continue
		}
		if len(got.Findings) != 1 {
			t.Errorf("%s: finds %+v", c.name, got.Findings)
			continue
		}
		if f := got.Findings[0]; f.Missing != c.missing || f.Extra != c.extra || f.First != c.first || f.Key != exact("even") || f.Err == nil {
			t.Errorf("%s: finds %+v", c.name, f)
		}
	}
}

func TestCheckFindsUnusableLists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	if got, err := d.Check(newRows(3)); err != nil || got.Lists != 0 || got.Findings != nil {
		t.Fatalf("without a directory: %+v, %v", got, err)
	}
	writeFile(t, filepath.Join(dir, "field-presence", "x4e.ids"), make([]byte, 8*5))
	writeFile(t, filepath.Join(dir, "stranger"), nil)
	publish(t, d, exact("odd"), posting(3, 1, 3))
	got, err := d.Check(newRows(3))
	if err != nil || got.Lists != 1 || len(got.Findings) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCheckFailsOnUnreadableRecords(t *testing.T) {
	d := listdir.New(osfs.New(), filepath.Join(t.TempDir(), "indexes-v2"))
	publish(t, d, exact("odd"), posting(3, 1, 3))
	rows := newRows(3)
	rows[1].Bytes = []byte("no record")
	if got, err := d.Check(rows); err == nil {
		t.Errorf("%+v", got)
	}
}
