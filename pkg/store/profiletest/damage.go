package profiletest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Edit changes the bytes of a file.
func Edit(t testing.TB, path string, change func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	Must(t, err)
	Must(t, os.WriteFile(path, change(b), 0o666))
}

// SetRow is a change of the offset and the length of a row of a record-log.
func SetRow(index int, offset, length func(uint64) uint64) func(log []byte) []byte {
	return func(log []byte) []byte {
		row := log[index*rowlog.RowLen:]
		binary.LittleEndian.PutUint64(row[48:], offset(binary.LittleEndian.Uint64(row[48:])))
		binary.LittleEndian.PutUint64(row[56:], length(binary.LittleEndian.Uint64(row[56:])))
		return log
	}
}

// As leaves a number of a row as it is.
func As(n uint64) uint64 { return n }

// Plus adds to a number of a row.
func Plus(d int) func(uint64) uint64 { return func(n uint64) uint64 { return n + uint64(d) } }

// To sets a number of a row.
func To(v uint64) func(uint64) uint64 { return func(uint64) uint64 { return v } }

// SetByte is a change of one byte.
func SetByte(at int, c byte) func(b []byte) []byte {
	return func(b []byte) []byte { b[at] = c; return b }
}

// BadRow is a change of a log of four rows that makes one of them none.
type BadRow struct {
	Name   string
	Change func(log []byte) []byte
	Names  []string // what the error names
}

// BadRows are complete rows that are not what they must be, whatever the profile.
func BadRows() []BadRow {
	return []BadRow{
		{"encoding of the hash", SetByte(64+5, '!'), []string{"row 1 at offset 64"}},
		{"kind of the hash", SetByte(2*64, 'Q'), []string{"row 2 at offset 128"}},
		{"zero length", SetRow(1, As, To(0)), []string{"row 1 at offset 64", "length 0"}},
		{"first offset", SetRow(0, Plus(1), As), []string{"row 0 at offset 0"}},
		{"gap", SetRow(2, Plus(1), As), []string{"row 2 at offset 128"}},
		{"overlap", SetRow(2, Plus(-1), As), []string{"row 2 at offset 128"}},
		{"overflow", SetRow(3, As, To(1<<64-1)), []string{"row 3 at offset 192", "overflows"}},
		{"offset beyond a signed number", SetRow(3, To(1<<63), As), []string{"row 3 at offset 192", "overflows"}},
		{"duplicate", func(log []byte) []byte { copy(log[3*64:][:48], log[:48]); return log }, []string{"row 3 at offset 192", "#1"}},
		{"a lost row without its record", func(log []byte) []byte { return append(log, make([]byte, 64)...) }, []string{"row 4 at offset 256"}},
		{"a lost row that is not followed", func(log []byte) []byte { clear(log[64:128]); return SetRow(2, Plus(1), As)(log) }, []string{"row 1 at offset 64"}},
	}
}

// BadRowsFailClosed: a bad complete row, with and without a torn one behind it,
// is named with its offset. refuses checks that no way into the root takes it,
// and that none changes a byte.
func (s Subject) BadRowsFailClosed(t *testing.T, rows []BadRow, refuses func(t *testing.T, fsys vfs.FS, dir string, parts ...string)) {
	for _, c := range rows {
		for _, torn := range []int{0, 63} {
			t.Run(fmt.Sprintf("%s, %d bytes torn", c.Name, torn), func(t *testing.T) {
				fsys, dir := s.NewRoot(t, Blobs(0, 4)...)
				Edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(c.Change(b), make([]byte, torn)...) })
				refuses(t, fsys, dir, append(c.Names, root.RecordLog)...)
			})
		}
	}
}

// PartialFinalRow: an incomplete last row was never admitted. A reader reports
// it and leaves it, a writer cuts it off.
func (s Subject) PartialFinalRow(t *testing.T) {
	for torn := 1; torn < rowlog.RowLen; torn += 9 {
		fsys, dir := s.NewRoot(t, Blobs(0, 3)...)
		log := filepath.Join(dir, root.RecordLog)
		whole := Get(t, fsys, log)
		Edit(t, log, func(b []byte) []byte { return append(b, b[:torn]...) })
		before := s.content(t, dir)
		b, err := s.Profile.Open(t.Context(), dir, profile.Options{FS: fsys, ReadOnly: true})
		Must(t, err)
		if got := b.(interface{ TornBytes() uint64 }).TornBytes(); got != uint64(torn) || b.Position() != 3 {
			t.Errorf("a reader sees %d torn bytes behind position %d, want %d behind 3", got, b.Position(), torn)
		}
		Must(t, b.Close())
		if after := s.content(t, dir); after != before {
			t.Errorf("a reader has changed the root from\n%sto\n%s", before, after)
		}
		all, err := s.Contents(t, fsys, dir)
		if err != nil || !Same(all, Blobs(0, 3)) {
			t.Errorf("%d records, %v", len(all), err)
		}
		if Get(t, fsys, log) != whole {
			t.Errorf("%d torn bytes: the log is another one afterwards", torn)
		}
	}
}

// LostRowsAreRestored: rows that the log has room for and no bytes are put back
// by a writer, from the records in their places; a reader refuses them untouched.
func (s Subject) LostRowsAreRestored(t *testing.T) {
	for name, lost := range map[string][]int{"last": {3}, "in the middle": {1}, "several": {0, 2, 3}, "all": {0, 1, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := s.NewRoot(t, Blobs(0, 4)...)
			log := filepath.Join(dir, root.RecordLog)
			whole := Get(t, fsys, log)
			Edit(t, log, func(b []byte) []byte {
				for _, i := range lost {
					clear(b[i*rowlog.RowLen:][:rowlog.RowLen])
				}
				return append(b, 1, 2, 3)
			})
			before := s.content(t, dir)
			_, err := s.Profile.Open(t.Context(), dir, profile.Options{FS: fsys, ReadOnly: true})
			Kind(t, err, store.CorruptStore, "row")
			if after := s.content(t, dir); after != before {
				t.Errorf("a reader has changed the root from\n%sto\n%s", before, after)
			}
			all, err := s.Contents(t, fsys, dir)
			if err != nil || !Same(all, Blobs(0, 4)) {
				t.Fatalf("%d records, %v", len(all), err)
			}
			if Get(t, fsys, log) != whole {
				t.Error("the log is another one afterwards")
			}
		})
	}
}

// ResumeReportsABadLog: a resume with nothing to finish says so of a sound root,
// and tells of a log that an opening would refuse, changing nothing.
func (s Subject) ResumeReportsABadLog(t *testing.T) {
	for name, c := range map[string]struct {
		change func(log []byte) []byte
		want   error
	}{
		"sound":                  {func(log []byte) []byte { return log }, nil},
		"torn":                   {func(log []byte) []byte { return append(log, 1, 2, 3) }, nil},
		"bad row":                {SetByte(2*rowlog.RowLen, 0), store.CorruptStore},
		"a row beyond the arena": {SetRow(3, As, Plus(1<<40)), store.CorruptStore},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := s.NewRoot(t, Blobs(0, 4)...)
			Edit(t, filepath.Join(dir, root.RecordLog), c.change)
			before := s.content(t, dir)
			report, err := s.Profile.Resume(t.Context(), dir, profile.CompactOptions{Open: profile.Options{FS: fsys}})
			if c.want == nil && (err != nil || report.Outcome != compact.NothingToDo) {
				t.Errorf("%+v, %v", report, err)
			}
			if c.want != nil {
				Kind(t, err, c.want)
			}
			if after := s.content(t, dir); after != before {
				t.Errorf("the root has changed from\n%sto\n%s", before, after)
			}
		})
	}
}
