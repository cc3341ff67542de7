package tally_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

// ranged is a store whose records can be read by the ranges of their rows.
type ranged struct {
	store.Backend
	bytes []byte
	arena io.ReaderAt // unless nil, in place of bytes
	table *rowlog.Table
}

func (r *ranged) Arena() io.ReaderAt {
	if r.arena != nil {
		return r.arena
	}
	return bytes.NewReader(r.bytes)
}

func (r *ranged) Rows(through store.Position) (rowlog.Rows, error) {
	if through != r.table.Position() {
		return nil, errors.New("a store of other rows")
	}
	return r.table, nil
}

func (r *ranged) Row(id store.RecordID) (rowlog.Row, error) { return r.table.Row(id), nil }

// cursor is rows that are read one by one, hashes and all.
type cursor struct{ rowlog.Rows }

// throughCursor is a store with such rows.
type throughCursor struct{ *ranged }

func (c throughCursor) Rows(through store.Position) (rowlog.Rows, error) {
	rows, err := c.ranged.Rows(through)
	return cursor{rows}, err
}

func rangedOf(t rapid.TB, records []storetest.Record) *ranged {
	t.Helper()
	r := &ranged{Backend: root(t, records), table: &rowlog.Table{}}
	for _, rec := range records {
		if err := r.table.Append(rowlog.Row{Hash: rec.Hash, Offset: r.table.End(), Len: uint64(len(rec.Bytes))}); err != nil {
			t.Fatal(err)
		}
		r.bytes = append(r.bytes, rec.Bytes...)
	}
	return r
}

// mixture is records whose lengths, and the lengths of whose heads, are on both
// sides of every bound of reading.
func mixture(t *rapid.T) []storetest.Record {
	var records []storetest.Record
	kinds := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 40).Draw(t, "kinds")
	for i, kind := range kinds {
		name := fmt.Sprint(i)
		switch kind {
		case 0:
			records = append(records, storetest.Blob(name))
		case 1:
			records = append(records, storetest.Blob(name+strings.Repeat("s", 31_000)))
		case 2:
			records = append(records, storetest.Blob(name+strings.Repeat("l", rapid.IntRange(32_000, 70_000).Draw(t, "length"))))
		case 3: // a head that is longer than what is read of one
			headers := []storetest.Header{}
			for range 40 {
				headers = append(headers, storetest.Header{Name: "Long", Value: strings.Repeat("h", 900)})
			}
			records = append(records, storetest.Plex(name, headers...))
		default:
			records = append(records, storetest.Plex(name, storetest.Header{Name: "Short", Value: "h"}))
		}
	}
	return records
}

// Reading heads comes to the same as loading records.
func TestHeadsAgreeWithRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := mixture(t)
		// Enough of them are several parts.
		for range rapid.SampledFrom([]int{0, 0, 0, 2500}).Draw(t, "more") {
			records = append(records, storetest.Blob(fmt.Sprint("more ", len(records))))
		}
		b := rangedOf(t, records)
		set := draw(t, "kept", len(records))
		o := tally.Options{Modules: []*kept.Set{draw(t, "first", len(records)), draw(t, "second", len(records))}}
		got, err := tally.Count(b, set, o)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tally.Count(throughCursor{b}, set, o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tally.Count(b.Backend, set, o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(rows, want) {
			t.Fatalf("heads\n%+v, of rows one by one\n%+v, records\n%+v", got, rows, want)
		}
	})
}

// The damage that is told is that of the first damaged record, however many
// goroutines look.
func TestHeadsOfDamage(t *testing.T) {
	var records []storetest.Record
	for i := range 5000 {
		records = append(records, storetest.Blob(fmt.Sprint(i)))
	}
	records = append(records, storetest.Blob(strings.Repeat("long", 10_000)))
	sound := rangedOf(t, records)
	set := kept.New(store.Position(len(records)))
	behindGlyph := func(id store.RecordID) uint64 { return sound.table.Row(id).Offset + record.GlyphLen }
	for name, c := range map[string]struct {
		bad []store.RecordID
	}{
		"first":      {[]store.RecordID{1}},
		"two, apart": {[]store.RecordID{4800, 1500}},
		"long":       {[]store.RecordID{5001}},
	} {
		r := *sound
		r.bytes = bytes.Clone(sound.bytes)
		for _, id := range c.bad {
			r.bytes[behindGlyph(id)] = '!'
		}
		_, err := tally.Count(&r, set, tally.Options{})
		var e *store.Error
		last := c.bad[len(c.bad)-1]
		if !errors.As(err, &e) || e.Kind != store.CorruptStore || e.ID != last || e.Hash != records[last-1].Hash {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := *sound
	cut.bytes = sound.bytes[:behindGlyph(4000)]
	_, err := tally.Count(&cut, set, tally.Options{})
	var e *store.Error
	if !errors.As(err, &e) || e.Kind != store.CorruptStore || e.ID != 4000 {
		t.Errorf("an arena that ends early: %v", err)
	}
}

// A row may say that its record is as long as an arena can be.
func TestHeadOfAnImpossibleLength(t *testing.T) {
	rec := storetest.Blob("x")
	r := &ranged{Backend: root(t, []storetest.Record{rec}), bytes: rec.Bytes, table: &rowlog.Table{}}
	if err := r.table.Append(rowlog.Row{Hash: rec.Hash, Len: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	if _, err := tally.Count(r, kept.New(1), tally.Options{}); !errors.Is(err, store.CorruptStore) {
		t.Errorf("a record of a tebibyte: %v", err)
	}
}

// unreadable fails every read from an offset on.
type unreadable struct {
	io.ReaderAt
	from int64
}

func (u unreadable) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > u.from {
		return 0, io.ErrClosedPipe
	}
	return u.ReaderAt.ReadAt(p, off)
}

func TestHeadsThatCannotBeRead(t *testing.T) {
	var records []storetest.Record
	for i := range 3000 {
		records = append(records, storetest.Blob(fmt.Sprint(i)))
	}
	r := rangedOf(t, records)
	r.arena = unreadable{bytes.NewReader(r.bytes), int64(len(r.bytes)) - 1}
	_, err := tally.Count(r, kept.New(3000), tally.Options{})
	if !errors.Is(err, store.Store) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Count = %v", err)
	}
	if _, err := tally.Count(r, kept.New(2), tally.Options{}); err == nil {
		t.Error("rows that cannot be had are no error")
	}
	stop := errors.New("stop")
	_, err = tally.Count(r, kept.New(3000), tally.Options{Step: func(done store.Position) error {
		if done > 0 {
			return stop
		}
		return nil
	}})
	if err != stop {
		t.Errorf("the pass went on after a stop: %v", err)
	}
}
