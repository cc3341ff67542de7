package compacttest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// interrupted returns the scripted root, killed at the nth call that matches.
func interrupted(t *testing.T, s *compacttest.Shape, match func(faultfs.Call) bool, nth int) *crashfs.FS {
	t.Helper()
	base := built(t, s, crashfs.Options{})
	first, seen := faultfs.New(base, compacttest.Dir), 0
	first.Inject(faultfs.Fault{Err: crashfs.ErrCrashed, KeepFailing: true, Match: func(c faultfs.Call) bool {
		if match(c) {
			seen++
		}
		return seen >= nth
	}})
	if _, err := (compacttest.Plain{}).Compact(t.Context(), first, compacttest.Dir, s.Set(), settings(s)); err == nil {
		t.Fatal("not killed")
	}
	return base.Clone()
}

func at(name string) string { return filepath.Join(compacttest.Dir, name) }

// edit changes a file in place, or makes it.
func edit(t *testing.T, fsys vfs.FS, name string, change func([]byte) []byte) {
	t.Helper()
	f, err := fsys.OpenFile(at(name), vfs.ReadWrite|vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	b = change(b)
	_, err = f.WriteAt(b, 0)
	if err = errors.Join(err, f.Truncate(int64(len(b))), f.Sync(), f.Close(), fsys.SyncDir(compacttest.Dir)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, fsys vfs.FS, name string) {
	t.Helper()
	if err := errors.Join(fsys.Remove(at(name)), fsys.SyncDir(compacttest.Dir)); err != nil {
		t.Fatal(err)
	}
}

// put returns a change that puts a number at an offset.
func put(offset int, n uint64) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.LittleEndian.PutUint64(b[offset:], n)
		return b
	}
}

func flip(offset int) func([]byte) []byte {
	return func(b []byte) []byte { b[offset] ^= 0x20; return b }
}

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }

// atSecondMove is the moment at which the second journaled batch is written
// but not synced; atThirdMove that of the batch without a journal.
func atSecondMove(t *testing.T, s *compacttest.Shape) *crashfs.FS {
	return interrupted(t, s, faultfs.On(faultfs.Sync, root.Records), 2)
}

func atThirdMove(t *testing.T, s *compacttest.Shape) *crashfs.FS {
	return interrupted(t, s, faultfs.On(faultfs.Sync, root.Records), 3)
}

// damage is one file of an interrupted compaction that is not what it must be.
type damage struct {
	file   string
	change func([]byte) []byte // nil removes the file
}

func damages() map[string]damage {
	const header, row = format.PlanHeaderLen, format.PlanRowLen
	return map[string]damage{
		"no plan":                        {root.Plan, nil},
		"empty plan":                     {root.Plan, cut(0)},
		"torn plan header":               {root.Plan, cut(header - 1)},
		"torn plan row":                  {root.Plan, cut(header + row + 5)},
		"plan without its last row":      {root.Plan, cut(header + 6*row)},
		"plan with a byte more":          {root.Plan, func(b []byte) []byte { return append(b, 0) }},
		"another boundary":               {root.Plan, put(0, 10)},
		"fewer retained":                 {root.Plan, put(8, 6)},
		"more retained than there are":   {root.Plan, put(8, 1<<60)},
		"a journal below the longest":    {root.Plan, put(16, 400)},
		"another old end":                {root.Plan, put(24, 1<<20)},
		"another hash":                   {root.Plan, flip(header + 3)},
		"no hash":                        {root.Plan, put(header, 0)},
		"a new offset with a gap":        {root.Plan, put(header+row+56, 72)},
		"an old offset inside a record":  {root.Plan, put(header+row+48, 180)},
		"a length of nothing":            {root.Plan, put(header+row+64, 0)},
		"a length that overflows":        {root.Plan, put(header+row+64, 1<<63)},
		"plan of zeros":                  {root.Plan, func(b []byte) []byte { clear(b); return b }},
		"empty state":                    {root.State, cut(0)},
		"torn state":                     {root.State, cut(6)},
		"state of zeros":                 {root.State, func(b []byte) []byte { clear(b); return b }},
		"another phase":                  {root.State, func([]byte) []byte { return []byte("reload 2\n") }},
		"a cursor behind the plan":       {root.State, func([]byte) []byte { return []byte("move 8\n") }},
		"a cursor too far":               {root.State, func([]byte) []byte { return []byte("move 6\n") }},
		"a cursor not canonical":         {root.State, func([]byte) []byte { return []byte("move 03\n") }},
		"empty journal":                  {root.Journal, cut(0)},
		"journal of a later batch":       {root.Journal, put(0, 6)},
		"journal that skips a row":       {root.Journal, put(8, 4)},
		"torn journal index":             {root.Journal, cut(12)},
		"torn journal row":               {root.Journal, cut(100)},
		"journal without its last byte":  {root.Journal, func(b []byte) []byte { return b[:len(b)-1] }},
		"journal with a byte more":       {root.Journal, func(b []byte) []byte { return append(b, 0) }},
		"journal without rows":           {root.Journal, cut(8)},
		"record-log without its last":    {root.RecordLog, func(b []byte) []byte { return b[:len(b)-64] }},
		"record-log of another root":     {root.RecordLog, func(b []byte) []byte { return append(b[64:64:64], b[:64*8]...) }},
		"record-log with another length": {root.RecordLog, flip(63)},
	}
}

// TestDamageIsCorruptStore: whatever an interrupted compaction left that is
// not exactly what it must be is refused before a byte is written, naming the
// file.
func TestDamageIsCorruptStore(t *testing.T) {
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			if err := refusesDamage(t, compacttest.Plain{}, d); err != nil {
				t.Error(err)
			}
		})
	}
}

func refusesDamage(t *testing.T, subject compacttest.Subject, d damage) error {
	t.Helper()
	s := scripted()
	fsys := atSecondMove(t, s)
	if d.change == nil {
		remove(t, fsys, d.file)
	} else {
		edit(t, fsys, d.file, d.change)
	}
	return refuses(t, subject, s, fsys)
}

func refused(t *testing.T, s *compacttest.Shape, base *crashfs.FS) {
	t.Helper()
	if err := refuses(t, compacttest.Plain{}, s, base); err != nil {
		t.Error(err)
	}
}

// refuses resumes and compacts, and is an error unless that is CorruptStore
// both times and nothing was written.
func refuses(t *testing.T, subject compacttest.Subject, s *compacttest.Shape, base *crashfs.FS) error {
	t.Helper()
	for name, run := range map[string]func(vfs.FS) (compact.Report, error){
		"resume": func(f vfs.FS) (compact.Report, error) {
			return subject.Resume(t.Context(), f, compacttest.Dir, settings(s))
		},
		"compact": func(f vfs.FS) (compact.Report, error) {
			return subject.Compact(t.Context(), f, compacttest.Dir, s.Set(), settings(s))
		},
	} {
		fsys := faultfs.New(base.Clone(), compacttest.Dir)
		report, err := run(fsys)
		var known *store.Error
		if !errors.Is(err, store.CorruptStore) || !errors.As(err, &known) {
			return fmt.Errorf("%s: %+v, %w", name, report, err)
		}
		changed := func(c faultfs.Call) bool { return faultfs.Changing(c) && c.Op != faultfs.SyncDir }
		if n := fsys.Count(changed); n > 0 {
			return fmt.Errorf("%s: %d calls changed something:\n%s", name, n, fsys.Transcript(changed))
		}
		if leaks := fsys.Leaks(); len(leaks) > 0 {
			return fmt.Errorf("%s: leaks %q", name, leaks)
		}
	}
	return nil
}

// spoil overwrites bytes of the arena, durably.
func spoil(t *testing.T, fsys vfs.FS, offset int64) {
	t.Helper()
	f, err := fsys.OpenFile(at(root.Records), vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("spoiled"), offset)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func resume(t *testing.T, s *compacttest.Shape, fsys vfs.FS) (compact.Report, error) {
	t.Helper()
	return compacttest.Plain{}.Resume(t.Context(), fsys, compacttest.Dir, settings(s))
}

// The second batch of the scripted root is plan rows 3 and 4, old [929, 1322)
// and [1322, 1725), new [827, 1220) and [1220, 1623). The third is rows 5 and
// 6, old [2398, 2671) and [2671, 2954), new [1623, 1896) and [1896, 2179).
const (
	oldPlaceOf5 = 2500
	newPlaceOf5 = 1700
)

// TestRowsComeFromAnySourceThatVerifies spoils sources of an interrupted batch
// one after the other: the journal first, then the old place.
func TestRowsComeFromAnySourceThatVerifies(t *testing.T) {
	spoilJournal := func(t *testing.T, fsys vfs.FS) { edit(t, fsys, root.Journal, flip(100)) }
	for name, c := range map[string]struct {
		start   func(*testing.T, *compacttest.Shape) *crashfs.FS
		spoil   func(*testing.T, vfs.FS)
		trusted int // rows taken from their new place; -1 is CorruptStore
	}{
		"everything is there":                      {atSecondMove, func(*testing.T, vfs.FS) {}, 0},
		"half written":                             {atSecondMove, func(t *testing.T, f vfs.FS) { spoil(t, f, 900) }, 0},
		"journal wrong, old place written over":    {atSecondMove, spoilJournal, 1},
		"only the journal":                         {atSecondMove, func(t *testing.T, f vfs.FS) { spoil(t, f, 1100); spoil(t, f, 1400) }, 0},
		"nothing":                                  {atSecondMove, func(t *testing.T, f vfs.FS) { spoilJournal(t, f); spoil(t, f, 900) }, -1},
		"without journal, old place":               {atThirdMove, func(t *testing.T, f vfs.FS) { spoil(t, f, newPlaceOf5) }, 0},
		"without journal, new place":               {atThirdMove, func(t *testing.T, f vfs.FS) { spoil(t, f, oldPlaceOf5) }, 1},
		"without journal, nothing":                 {atThirdMove, func(t *testing.T, f vfs.FS) { spoil(t, f, oldPlaceOf5); spoil(t, f, newPlaceOf5) }, -1},
		"a complete journal of other bytes":        {atSecondMove, otherBytes, 2},
		"journal wrong, old place not yet reached": {beforeSecondMove, spoilJournal, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted()
			fsys := c.start(t, s)
			c.spoil(t, fsys)
			if lost := proveLost(t, fsys); (lost > 0) != (c.trusted < 0) {
				t.Errorf("the proof finds %d rows nowhere", lost)
			}
			calls := faultfs.New(fsys, compacttest.Dir)
			report, err := resume(t, s, calls)
			if c.trusted >= 0 {
				if err != nil || len(report.TrustedRows) != c.trusted {
					t.Fatalf("trusted rows %v, want %d; %v", report.TrustedRows, c.trusted, err)
				}
				if err := finishes(s, fsys.Clone()); err != nil {
					t.Errorf("resumed: %v", err)
				}
				return
			}
			if !errors.Is(err, store.CorruptStore) || !strings.Contains(err.Error(), "plan row") {
				t.Fatalf("%+v, %v", report, err)
			}
			if n := calls.Count(faultfs.On(faultfs.Write, root.Records)); n > 0 {
				t.Errorf("%d writes", n)
			}
		})
	}
}

// proveLost proves every plan row at its new place, at its old place or in the
// journal, writes nothing, and returns how many it found nowhere.
func proveLost(t *testing.T, fsys vfs.FS) int {
	t.Helper()
	calls := faultfs.New(fsys, compacttest.Dir)
	open := func(name string) (vfs.File, int64) {
		f, err := calls.OpenFile(filepath.Join(compacttest.Dir, name), vfs.ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() }) // read-only: nothing to lose
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return f, info.Size
	}
	log, logSize := open(root.RecordLog)
	arena, arenaSize := open(root.Records)
	table, _, err := rowlog.Read(log, logSize, uint64(arenaSize))
	if err != nil {
		t.Fatal(err)
	}
	proof, err := compact.Prove(t.Context(), calls, compacttest.Dir, arena, table, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Count(faultfs.Changing); n > 0 {
		t.Errorf("a proof makes %d calls that change something", n)
	}
	return len(proof.Lost)
}

func beforeSecondMove(t *testing.T, s *compacttest.Shape) *crashfs.FS {
	written := 0
	return interrupted(t, s, func(c faultfs.Call) bool {
		if c.Op == faultfs.Sync && c.Path == root.Records {
			written++
		}
		return written == 1 && c.Op == faultfs.Write && c.Path == root.Records
	}, 1)
}

// otherBytes is the journal of another run with the same row indexes and
// lengths.
func otherBytes(t *testing.T, fsys vfs.FS) {
	edit(t, fsys, root.Journal, func(b []byte) []byte {
		return append(b[:16:16], bytes.Map(func(r rune) rune {
			if r == 'e' || r == 'f' || r == 'D' {
				return 'x'
			}
			return r
		}, b[16:])...)
	})
}

// TestFilesWithoutAState: plan, journal and temporaries without a state are
// cleared away from a root that is whole, whatever bytes they have, and from no
// other.
func TestFilesWithoutAState(t *testing.T) {
	for name, files := range map[string][]string{
		"plan":                  {root.Plan},
		"journal":               {root.Journal},
		"plan and journal":      {root.Plan, root.Journal},
		"temporary of the plan": {root.Plan + vfs.TempSuffix},
		"all temporaries":       {root.Plan + vfs.TempSuffix, root.State + vfs.TempSuffix, root.Journal + vfs.TempSuffix, root.RecordLog + vfs.TempSuffix},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted()
			fsys := built(t, s, crashfs.Options{})
			for _, f := range files {
				edit(t, fsys, f, func([]byte) []byte { return []byte("not a plan") })
			}
			damaged := fsys.Clone()
			spoil(t, damaged, 100)
			refused(t, s, damaged)

			h := compacttest.Adopt(compacttest.Plain{}, s, fsys.Clone())
			if err := (compacttest.Plain{}).Open(t.Context(), fsys, compacttest.Dir); !errors.Is(err, store.NeedsResume) {
				t.Errorf("open: %v", err)
			}
			report, err := resume(t, s, fsys)
			if err != nil || report.Outcome != compact.NothingToDo {
				t.Errorf("resume: %+v, %v", report, err)
			}
			if err := (compacttest.Plain{}).Open(t.Context(), fsys, compacttest.Dir); err != nil {
				t.Errorf("open afterwards: %v", err)
			}
			if err := h.Finish(); err != nil { // compact goes on with its set
				t.Error(err)
			}
		})
	}
}

// rowAtCursor returns the cursor of an interrupted compaction, and the row of its
// plan that moves next.
func rowAtCursor(t *testing.T, fsys vfs.FS) (cursor format.RowIndex, row format.PlanRow) {
	t.Helper()
	state, err := compact.ReadState(fsys, compacttest.Dir)
	if err != nil {
		t.Fatal(err)
	}
	edit(t, fsys, root.Plan, func(b []byte) []byte {
		row, err = format.DecodePlanRow(b[format.PlanHeaderLen+format.PlanRowLen*int(state.Cursor):])
		return b
	})
	if err != nil {
		t.Fatal(err)
	}
	return state.Cursor, row
}

// TestDamagedRecordIsCarried: a record that was damaged before the compaction
// moves in a run that nothing interrupts, so an interruption must not lock the
// root for ever. A resume refuses it unless it is told to carry it along.
func TestDamagedRecordIsCarried(t *testing.T) {
	s := scripted()
	fsys := atThirdMove(t, s)
	cursor, row := rowAtCursor(t, fsys)
	f, err := fsys.OpenFile(at(root.Records), vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []uint64{row.EndOld(), row.EndNew()} {
		if _, err := f.WriteAt([]byte{0}, int64(end-1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	refused(t, s, fsys)

	carry := settings(s)
	carry.Run.CarryDamaged = true
	report, err := compacttest.Plain{}.Resume(t.Context(), fsys, compacttest.Dir, carry)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.DamagedRows) != 1 || report.DamagedRows[0] != uint64(cursor) {
		t.Errorf("damaged rows %v, want [%d]", report.DamagedRows, cursor)
	}
	if report.Outcome != compact.Resumed {
		t.Errorf("outcome %s", report.Outcome)
	}
}

// TestDamagedGlyphIsNotCarried: no store opens a root with such a record, so
// that moving it would finish nothing. The hint names what helps.
func TestDamagedGlyphIsNotCarried(t *testing.T) {
	s := scripted()
	fsys := atThirdMove(t, s)
	_, row := rowAtCursor(t, fsys)
	for _, at := range []uint64{row.OffsetOld, row.OffsetNew} {
		edit(t, fsys, root.Records, func(b []byte) []byte { b[at] ^= 1; return b })
	}
	for _, carry := range []bool{false, true} {
		o := settings(s)
		o.Run.CarryDamaged = carry
		_, err := compacttest.Plain{}.Resume(t.Context(), fsys, compacttest.Dir, o)
		var corrupt *store.Error
		if !errors.As(err, &corrupt) || !errors.Is(err, store.CorruptStore) || !strings.Contains(corrupt.Hint, "backup") {
			t.Errorf("carry %v: %v", carry, err)
		}
	}
}

// TestDamagedJournalIsMended: a journal copy that is damaged sends recovery to
// the row's old range, which the row may be about to overwrite itself. A kill
// at any call of that recovery must still leave a whole copy.
func TestDamagedJournalIsMended(t *testing.T) {
	if err := mendsDamagedJournal(t, nil); err != nil {
		t.Error(err)
	}
}

// mendsDamagedJournal tries every kill; wrap, unless nil, is put around the
// file system of the run that is killed.
func mendsDamagedJournal(t *testing.T, wrap func(vfs.FS) vfs.FS) error {
	t.Helper()
	if wrap == nil {
		wrap = func(fsys vfs.FS) vfs.FS { return fsys }
	}
	s := scripted()
	small := settings(s)
	small.Run.Buffer = 64 // a row is written in several calls
	killed := interrupted(t, s, faultfs.On(faultfs.Write, root.Records), 1)
	var plan []format.PlanRow
	edit(t, killed, root.Plan, func(b []byte) []byte {
		for at := format.PlanHeaderLen; at < len(b); at += format.PlanRowLen {
			row, err := format.DecodePlanRow(b[at:])
			if err != nil {
				t.Fatal(err)
			}
			plan = append(plan, row)
		}
		return b
	})
	var ends []int // of each journaled row in the journal
	edit(t, killed, root.Journal, func(b []byte) []byte {
		first := int(binary.LittleEndian.Uint64(b))
		for at := format.JournalHeaderLen; at < len(b); {
			at += format.JournalEntryLen + int(plan[first+len(ends)].Len)
			ends = append(ends, at)
		}
		return b
	})
	for _, end := range ends {
		base := killed.Clone()
		edit(t, base, root.Journal, flip(end-1))
		for n, fired := 1, true; fired; n++ {
			fsys := base.Clone()
			first, seen := faultfs.New(fsys, compacttest.Dir), 0
			fault := first.Inject(faultfs.Fault{Err: crashfs.ErrCrashed, KeepFailing: true, Match: func(c faultfs.Call) bool {
				if faultfs.Changing(c) {
					seen++
				}
				return seen >= n
			}})
			_, err := compacttest.Plain{}.Resume(t.Context(), wrap(first), compacttest.Dir, small)
			if fired = fault.Fired() > 0; !fired && err != nil {
				return err
			}
			after := fsys.Clone()
			if _, err := (compacttest.Plain{}).Resume(t.Context(), after, compacttest.Dir, small); err != nil {
				return fmt.Errorf("copy that ends at %d damaged, killed at changing call %d: %w", end, n, err)
			}
			if err := (compacttest.Plain{}).Open(t.Context(), after, compacttest.Dir); err != nil {
				return fmt.Errorf("killed at changing call %d, then resumed: %w", n, err)
			}
		}
	}
	return nil
}
