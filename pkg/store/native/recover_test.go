package native_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// edit changes the bytes of a file of a root.
func edit(t *testing.T, path string, change func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o666))
}

// setRow returns a change of the offset and the length of a row.
func setRow(index int, offset, length func(uint64) uint64) func([]byte) []byte {
	return func(log []byte) []byte {
		row := log[index*64:]
		binary.LittleEndian.PutUint64(row[48:], offset(binary.LittleEndian.Uint64(row[48:])))
		binary.LittleEndian.PutUint64(row[56:], length(binary.LittleEndian.Uint64(row[56:])))
		return log
	}
}

func same(n uint64) uint64            { return n }
func plus(d int) func(uint64) uint64  { return func(n uint64) uint64 { return n + uint64(d) } }
func to(v uint64) func(uint64) uint64 { return func(uint64) uint64 { return v } }
func setByte(at int, c byte) func([]byte) []byte {
	return func(b []byte) []byte { b[at] = c; return b }
}

// badRows are complete rows that are not what they must be, in a log of four.
var badRows = []struct {
	name   string
	change func(log []byte) []byte
	names  []string
}{
	{"encoding of the hash", setByte(64+5, '!'), []string{"row 1 at offset 64"}},
	{"kind of the hash", setByte(2*64, 'Q'), []string{"row 2 at offset 128"}},
	{"zero length", setRow(1, same, to(0)), []string{"row 1 at offset 64", "length 0"}},
	{"first offset", setRow(0, plus(1), same), []string{"row 0 at offset 0"}},
	{"gap", setRow(2, plus(1), same), []string{"row 2 at offset 128"}},
	{"overlap", setRow(2, plus(-1), same), []string{"row 2 at offset 128"}},
	{"overflow", setRow(3, same, to(1<<64-1)), []string{"row 3 at offset 192", "overflows"}},
	{"offset beyond a signed number", setRow(3, to(1<<63), same), []string{"row 3 at offset 192", "overflows"}},
	{"beyond the capacity", setRow(3, same, to(minCapacity)), []string{"row 3 at offset 192", "1048576"}},
	{"duplicate", func(log []byte) []byte { copy(log[3*64:][:48], log[:48]); return log }, []string{"row 3 at offset 192", "#1"}},
	{"a lost row without its record", func(log []byte) []byte { return append(log, make([]byte, 64)...) }, []string{"row 4 at offset 256"}},
	{"a lost row that is not followed", func(log []byte) []byte { clear(log[64:128]); return setRow(2, plus(1), same)(log) }, []string{"row 1 at offset 64"}},
}

// A bad complete row, with and without a torn one behind it, fails closed: it
// is named with its offset, and nothing changes.
func TestBadRowFailsClosed(t *testing.T) {
	for _, c := range badRows {
		for _, torn := range []int{0, 63} {
			t.Run(fmt.Sprintf("%s, %d bytes torn", c.name, torn), func(t *testing.T) {
				fsys, dir := newRoot(t, blobs(0, 4)...)
				edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(c.change(b), make([]byte, torn)...) })
				failsClosed(t, fsys, dir, append(c.names, root.RecordLog)...)
			})
		}
	}
}

func failsClosed(t *testing.T, fsys vfs.FS, dir string, parts ...string) {
	t.Helper()
	unchanged(t, dir, func() {
		for _, o := range openers[:3] {
			kind(t, o.open(t, fsys, dir), store.CorruptStore, parts...)
		}
		kind(t, openers[4].open(t, fsys, dir), store.CorruptStore, parts...)
	})
}

func TestBadGlyphFailsClosed(t *testing.T) {
	length := len(blob(0))
	for name, change := range map[string]func([]byte) []byte{
		"first byte":         setByte(length, 'x'),
		"hash":               setByte(length+10, 'x'),
		"end of line":        setByte(length+54, ' '),
		"of another record":  func(b []byte) []byte { copy(b[length:], blob(3)[:55]); return b },
		"zeros":              func(b []byte) []byte { clear(b[length : length+55]); return b },
		"shorter than a row": nil,
	} {
		for _, torn := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d bytes torn", name, torn), func(t *testing.T) {
				fsys, dir := newRoot(t, blobs(0, 3)...)
				if change != nil {
					edit(t, filepath.Join(dir, root.Records), change)
				} else {
					edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return setRow(1, same, to(54))(b)[:128] })
				}
				edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(b, make([]byte, torn)...) })
				failsClosed(t, fsys, dir, "record #2", fmt.Sprintf("offset %d", length))
			})
		}
	}
}

// Recovery trusts what was admitted beyond its glyph line.
func TestRecoveryTrustsTheRestOfARecord(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	edit(t, filepath.Join(dir, root.Records), setByte(len(blob(0))+55, '?'))
	for _, o := range openers[:3] {
		must(t, o.open(t, fsys, dir))
	}
}

func TestPartialFinalRow(t *testing.T) {
	for torn := 1; torn < 64; torn += 9 {
		fsys, dir := newRoot(t, blobs(0, 3)...)
		log := filepath.Join(dir, root.RecordLog)
		whole, err := os.ReadFile(log)
		must(t, err)
		edit(t, log, func(b []byte) []byte { return append(b, b[:torn]...) })
		unchanged(t, dir, func() {
			s, err := native.Open(t.Context(), dir, native.Options{FS: fsys, ReadOnly: true})
			must(t, err)
			if s.TornBytes() != uint64(torn) || s.Position() != 3 {
				t.Errorf("a reader sees %d torn bytes behind position %d, want %d behind 3", s.TornBytes(), s.Position(), torn)
			}
			must(t, s.Close())
		})
		all, err := contents(t, fsys, dir)
		if err != nil || !sameRecords(all, blobs(0, 3)) {
			t.Errorf("%d records, %v", len(all), err)
		}
		if after, err := os.ReadFile(log); err != nil || string(after) != string(whole) {
			t.Errorf("%d torn bytes: the log has %d bytes (%v), want %d", torn, len(after), err, len(whole))
		}
	}
}

// Rows that the log has room for and no bytes are put back by a writer, from
// the records in their places; a reader refuses them untouched.
func TestLostRowsAreRestored(t *testing.T) {
	for name, lost := range map[string][]int{"last": {3}, "in the middle": {1}, "several": {0, 2, 3}, "all": {0, 1, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := newRoot(t, blobs(0, 4)...)
			log := filepath.Join(dir, root.RecordLog)
			whole, err := os.ReadFile(log)
			must(t, err)
			edit(t, log, func(b []byte) []byte {
				for _, i := range lost {
					clear(b[i*64:][:64])
				}
				return append(b, 1, 2, 3)
			})
			unchanged(t, dir, func() { kind(t, openers[2].open(t, fsys, dir), store.CorruptStore, "row") })
			all, err := contents(t, fsys, dir)
			if err != nil || !sameRecords(all, blobs(0, 4)) {
				t.Fatalf("%d records, %v", len(all), err)
			}
			if after, err := os.ReadFile(log); err != nil || string(after) != string(whole) {
				t.Errorf("the log is another one (%v)", err)
			}
		})
	}
}

// A record that is not proven by every digest gives no row.
func TestLostRowOfADamagedRecordFailsClosed(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { clear(b[128:]); return b })
	edit(t, filepath.Join(dir, root.Records), setByte(len(blob(0))+len(blob(1))+len(blob(2))-1, '?'))
	failsClosed(t, fsys, dir, "row 2 at offset 128")
}

func TestRestoringSurvivesCrashes(t *testing.T) { subject.RestoringSurvivesCrashes(t) }

func TestTruncationOfATornRowIsDurable(t *testing.T) { subject.TruncationOfATornRowIsDurable(t) }
