package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// image is a root in memory.
type image struct {
	log, arena []byte
	starts     []uint64
}

func (m image) input() Input {
	return Input{
		Log: bytes.NewReader(m.log), LogSize: int64(len(m.log)),
		Arena: bytes.NewReader(m.arena), Capacity: uint64(len(m.arena)),
	}
}

func (m image) clone() image {
	m.log, m.arena = bytes.Clone(m.log), bytes.Clone(m.arena)
	return m
}

// imageOf lays records out as a store does, with residue behind them.
func imageOf(t testing.TB, records ...[]byte) image {
	t.Helper()
	var m image
	for _, rec := range records {
		hash, err := record.ParseGlyphLine(rec)
		if err != nil {
			t.Fatal(err)
		}
		m.starts = append(m.starts, uint64(len(m.arena)))
		m.log = rowlog.Row{Hash: hash, Offset: uint64(len(m.arena)), Len: uint64(len(rec))}.AppendTo(m.log)
		m.arena = append(m.arena, rec...)
	}
	m.arena = append(m.arena, "residue of a write that failed"...)
	return m
}

func blob(t testing.TB, data string) []byte {
	v, err := record.BuildBlob(nil, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return v.Bytes()
}

func plex(t testing.TB, name string) record.View {
	inner, err := record.BuildBlob(nil, []byte("data of "+name))
	if err != nil {
		t.Fatal(err)
	}
	at := record.Coordinates{Group: "g", App: "verify", Name: name, TAI: record.FormatTAI(1_700_000_000, 0)}
	v, err := record.BuildPlex(nil, at, nil, inner)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// seal seals a Plex, with a wrong mark when forged.
func seal(t testing.TB, name string, forged bool) []byte {
	signer, err := mark.NewSigner([32]byte{31: 5})
	if err != nil {
		t.Fatal(err)
	}
	p := plex(t, name)
	signed := p.Hash()
	if forged {
		signed = plex(t, "another").Hash()
	}
	m, err := signer.Sign(signed, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := record.BuildSeal(nil, p, signer.Key(), m)
	if err != nil {
		t.Fatal(err)
	}
	return v.Bytes()
}

// unruly is a record whose digest is right and whose headers are not.
func unruly() []byte {
	payload := []byte("Nonsense: 1\n\nx")
	return append(record.AppendGlyphLine(nil, record.MakeHash(record.Blob, blake3.Sum256(payload))), payload...)
}

func sample(t testing.TB) image {
	return imageOf(t, blob(t, "one"), plex(t, "two").Bytes(), seal(t, "three", false), blob(t, strings.Repeat("4", 3000)), blob(t, "five"))
}

func ids(bad []Bad) []store.RecordID {
	out := []store.RecordID{}
	for _, b := range bad {
		out = append(out, b.ID)
	}
	return out
}

func TestSoundRoot(t *testing.T) {
	m := sample(t)
	for level := range Level(len(Levels())) {
		for _, jobs := range []int{0, 1, 2, 3, math.MaxInt} {
			r, err := Root(t.Context(), m.input(), Options{Level: level, Jobs: jobs})
			if err != nil || len(r.Bad) > 0 || r.NextFrom != 0 || r.TornBytes != 0 {
				t.Errorf("level %d: %+v, %v", level, r, err)
			}
			if want := uint64(len(m.arena) - len("residue of a write that failed")); r.Records != 5 || r.Bytes != want {
				t.Errorf("level %d: %d records, %d bytes, want 5 and %d", level, r.Records, r.Bytes, want)
			}
		}
	}
}

func TestEmptyRoot(t *testing.T) {
	r, err := Root(t.Context(), image{}.input(), Options{Level: Seals})
	if err != nil || r.Records != 0 || len(r.Bad) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLevelNames(t *testing.T) {
	for i, name := range Levels() {
		if l, err := ParseLevel(name); err != nil || l != Level(i) {
			t.Errorf("%s is %d, %v", name, l, err)
		}
	}
	if _, err := ParseLevel("deep"); err == nil {
		t.Error("an unknown level is accepted")
	}
}

// Every damage is found from its level on, at its record, and nowhere else.
func TestDamage(t *testing.T) {
	row := func(m image, i int) rowlog.Row {
		r, err := rowlog.Decode(m.log[i*rowlog.RowLen:])
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	setRow := func(m image, i int, r rowlog.Row) { copy(m.log[i*rowlog.RowLen:], r.AppendTo(nil)) }
	for _, c := range []struct {
		name    string
		level   Level
		damage  func(m image)
		bad     []store.RecordID
		problem string
	}{
		{"nothing", Seals, func(image) {}, []store.RecordID{}, ""},
		{"row of zeros", Rows, func(m image) { clear(m.log[64:128]) }, []store.RecordID{2}, "not of the form"},
		{"two rows of zeros", Rows, func(m image) { clear(m.log[64:192]) }, []store.RecordID{2, 3}, "not of the form"},
		{"last row of zeros", Rows, func(m image) { clear(m.log[256:]) }, []store.RecordID{5}, "not of the form"},
		{"length zero", Rows, func(m image) { clear(m.log[64+56 : 128]) }, []store.RecordID{2}, "length 0"},
		{"gap", Rows, func(m image) { r := row(m, 1); r.Offset++; setRow(m, 1, r) }, []store.RecordID{2}, "the end of the row before it"},
		{"overlap", Rows, func(m image) { r := row(m, 3); r.Offset = 0; setRow(m, 3, r) }, []store.RecordID{4}, "the end of the row before it"},
		{"first offset", Rows, func(m image) { r := row(m, 0); r.Offset = 3; setRow(m, 0, r) }, []store.RecordID{1}, "want 0"},
		{"duplicate", Rows, func(m image) { r := row(m, 4); r.Hash = row(m, 0).Hash; setRow(m, 4, r) }, []store.RecordID{5}, "repeats the hash of record #1"},
		{"beyond the arena", Rows, func(m image) { r := row(m, 1); r.Offset = 1 << 40; setRow(m, 1, r) }, []store.RecordID{2}, "beyond the arena"},
		{"glyph", Glyphs, func(m image) { m.arena[m.starts[2]+1] ^= 1 }, []store.RecordID{3}, "glyph"},
		{"glyph of another", Glyphs, func(m image) { copy(m.arena[m.starts[1]:], m.arena[:record.GlyphLen]) }, []store.RecordID{2}, "the glyph line of B."},
		{"byte behind the glyph", Hashes, func(m image) { m.arena[m.starts[3]+2000] ^= 1 }, []store.RecordID{4}, "hashes to"},
		{"last byte", Hashes, func(m image) { m.arena[m.starts[4]-1] ^= 0x80 }, []store.RecordID{4}, "hashes to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := sample(t).clone()
			c.damage(m)
			for level := range Level(len(Levels())) {
				r, err := Root(t.Context(), m.input(), Options{Level: level})
				if err != nil {
					t.Fatal(err)
				}
				want := c.bad
				if level < c.level {
					want = []store.RecordID{}
				}
				if !slices.Equal(ids(r.Bad), want) {
					t.Fatalf("level %s: bad %+v, want %v", Levels()[level], r.Bad, want)
				}
				if level >= c.level && len(want) > 0 && !strings.Contains(r.Bad[0].Problem, c.problem) {
					t.Errorf("level %s: %q, want %q", Levels()[level], r.Bad[0].Problem, c.problem)
				}
			}
		})
	}
}

func TestRulesAndMarksAreCheckedAtTheLastLevel(t *testing.T) {
	m := imageOf(t, blob(t, "1"), unruly(), seal(t, "3", true), seal(t, "4", false))
	for level, want := range [][]store.RecordID{{}, {}, {}, {2, 3}} {
		r, err := Root(t.Context(), m.input(), Options{Level: Level(level)})
		if err != nil || !slices.Equal(ids(r.Bad), want) {
			t.Errorf("level %s: %+v, %v", Levels()[level], r, err)
		}
	}
}

// One flipped bit anywhere in the log or under the committed end is found, and
// blamed on its own row or, when a row tells a wrong length, on the next.
func TestEveryFlippedByteIsFound(t *testing.T) {
	m := imageOf(t, blob(t, "one"), plex(t, "two").Bytes(), seal(t, "three", false), blob(t, "four"))
	check := func(what string, m image, allowed ...store.RecordID) {
		t.Helper()
		r, err := Root(t.Context(), m.input(), Options{Level: Hashes, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Bad) == 0 {
			t.Errorf("%s is not found", what)
		}
		for _, b := range r.Bad {
			if !slices.Contains(allowed, b.ID) {
				t.Errorf("%s is blamed on #%d: %s", what, b.ID, b.Problem)
			}
		}
	}
	for i := range m.log {
		damaged := m.clone()
		damaged.log[i] ^= 1
		id := store.RecordID(i/rowlog.RowLen + 1)
		check(fmt.Sprintf("byte %d of the log", i), damaged, id, id+1)
	}
	for i, start := range m.starts {
		end := uint64(len(m.arena)) - 30
		if i+1 < len(m.starts) {
			end = m.starts[i+1]
		}
		for at := start; at < end; at++ {
			damaged := m
			damaged.arena = bytes.Clone(m.arena)
			damaged.arena[at] ^= 1
			check(fmt.Sprintf("byte %d of the arena", at), damaged, store.RecordID(i+1))
		}
	}
}

func TestTornRowIsNoDamage(t *testing.T) {
	m := sample(t)
	m.log = append(bytes.Clone(m.log), m.log[:20]...)
	r, err := Root(t.Context(), m.input(), Options{Level: Seals})
	if err != nil || r.TornBytes != 20 || r.Records != 5 || len(r.Bad) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// zeros is an arena of any length that nothing was written to.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

// A row can claim almost the whole of a sparse arena; nothing of that size is
// allocated or read.
func TestHugeLengthsAreNotBelieved(t *testing.T) {
	m := imageOf(t, blob(t, "one"))
	r, err := rowlog.Decode(m.log)
	if err != nil {
		t.Fatal(err)
	}
	r.Len = 1 << 39
	in := m.input()
	in.Log, in.Arena, in.Capacity = bytes.NewReader(r.AppendTo(nil)), zeros{}, 1<<40
	for level := Glyphs; level <= Seals; level++ {
		rep, err := Root(t.Context(), in, Options{Level: level})
		if err != nil || len(rep.Bad) != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
	}
}

// flaky fails reads that touch [lo, hi), and writes down the others.
type flaky struct {
	io.ReaderAt
	lo, hi int64
	mu     sync.Mutex
	reads  [][2]int64
}

func (f *flaky) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	f.reads = append(f.reads, [2]int64{off, int64(len(p))})
	f.mu.Unlock()
	if off < f.hi && off+int64(len(p)) > f.lo {
		return 0, io.ErrClosedPipe
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestUnreadableBytesCostTheirRecordsAlone(t *testing.T) {
	m := sample(t)
	for level := Glyphs; level <= Seals; level++ {
		in := m.input()
		at := int64(m.starts[2]) + 10
		in.Arena = &flaky{ReaderAt: in.Arena, lo: at, hi: at + 1}
		r, err := Root(t.Context(), in, Options{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		// A window of glyph lines is lost as a whole up to the bad byte.
		if level > Glyphs && !slices.Equal(ids(r.Bad), []store.RecordID{3}) || !slices.Contains(ids(r.Bad), 3) || slices.Contains(ids(r.Bad), 4) {
			t.Errorf("level %s: bad %+v", Levels()[level], r.Bad)
		}
		for _, b := range r.Bad {
			if !strings.Contains(b.Problem, "cannot be read") {
				t.Errorf("problem %q", b.Problem)
			}
		}
	}
}

func TestUnreadableLogIsAnError(t *testing.T) {
	in := sample(t).input()
	in.Log = &flaky{ReaderAt: in.Log, hi: 1}
	if _, err := Root(t.Context(), in, Options{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Root = %v", err)
	}
	in.Log, in.LogSize = bytes.NewReader(nil), 128
	if _, err := Root(t.Context(), in, Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a log that shrank: %v", err)
	}
}

// many is a root of some mebibytes of small records with a large one inside.
func many(t testing.TB) image {
	var records [][]byte
	for i := range 3000 {
		records = append(records, blob(t, fmt.Sprintf("%d%s", i, strings.Repeat(".", i%1500))))
		if i == 1500 {
			records = append(records, blob(t, strings.Repeat("L", 3*spanBytes)))
		}
	}
	return imageOf(t, records...)
}

func TestReadsInOffsetOrderAndLargePieces(t *testing.T) {
	m := many(t)
	in := m.input()
	f := &flaky{ReaderAt: in.Arena}
	in.Arena = f
	r, err := Root(t.Context(), in, Options{Level: Hashes, Jobs: 3})
	if err != nil || len(r.Bad) != 0 {
		t.Fatal(r, err)
	}
	next := int64(0)
	for _, read := range f.reads {
		if read[0] != next {
			t.Fatalf("read at %d, want %d", read[0], next)
		}
		next = read[0] + read[1]
	}
	if pieces := int(next / spanBytes); len(f.reads) > pieces+8 {
		t.Errorf("%d reads of %d bytes", len(f.reads), next)
	}
}

// advised writes down what was asked for ahead.
type advised struct {
	flaky
	asked [][2]int64
}

func (a *advised) ReadAhead(off, n int64) { a.asked = append(a.asked, [2]int64{off, n}) }

// Where all records are checked, what follows is asked for, once and up to the
// end of the last; where some are, nothing is.
func TestAsksForWhatFollows(t *testing.T) {
	m := many(t)
	end := int64(len(m.arena) - len("residue of a write that failed"))
	for name, c := range map[string]struct {
		opts Options
		all  bool
	}{
		"all":    {Options{Level: Seals}, true},
		"subset": {Options{Level: Hashes, Subset: Subset{1, 2}}, false},
		"sample": {Options{Level: Hashes, Sample: Sample{Share: 0.5}}, false},
	} {
		in := m.input()
		arena := &advised{flaky: flaky{ReaderAt: in.Arena}}
		in.Arena = arena
		if r, err := Root(t.Context(), in, c.opts); err != nil || len(r.Bad) != 0 {
			t.Fatal(r, err)
		}
		if (len(arena.asked) > 0) != c.all {
			t.Errorf("%s: asked for %v", name, arena.asked)
		}
		next := int64(0)
		for _, a := range arena.asked {
			if a[0] < next || a[1] <= 0 || a[0]+a[1] > end {
				t.Errorf("%s: asked for %d bytes at %d, behind %d and up to %d", name, a[1], a[0], next, end)
			}
			next = a[0] + a[1]
		}
		if c.all && next != end {
			t.Errorf("%s: asked up to %d, want %d", name, next, end)
		}
	}
}

// stopping stops at the first read that does not begin at 0.
type stopping struct {
	io.ReaderAt
	stop func()
}

func (s stopping) ReadAt(p []byte, off int64) (int, error) {
	if off > 0 {
		s.stop()
	}
	return s.ReaderAt.ReadAt(p, off)
}

func TestStopAndGoOn(t *testing.T) {
	m := many(t)
	damaged := m.clone()
	for _, i := range []int{0, 700, 2999} {
		damaged.arena[damaged.starts[i]+60] ^= 1
	}
	want := []store.RecordID{1, 701, 3000}
	ctx, cancel := context.WithCancel(t.Context())
	in := damaged.input()
	in.Arena = stopping{in.Arena, cancel}
	first, err := Root(ctx, in, Options{Level: Hashes, Jobs: 2})
	if !errors.Is(err, store.Interrupted) || !errors.Is(err, context.Canceled) {
		t.Fatalf("Root = %v", err)
	}
	if first.NextFrom <= 1 || first.NextFrom > 3001 || first.Records >= 3001 {
		t.Fatalf("stopped at #%d of 3001 after %d records", first.NextFrom, first.Records)
	}
	rest, err := Root(t.Context(), damaged.input(), Options{Level: Hashes, From: first.NextFrom})
	if err != nil || rest.NextFrom != 0 {
		t.Fatal(rest.NextFrom, err)
	}
	for _, b := range rest.Bad {
		if b.ID < first.NextFrom {
			t.Errorf("#%d was checked again", b.ID)
		}
	}
	if got := append(ids(first.Bad), ids(rest.Bad)...); !slices.Equal(got, want) {
		t.Errorf("found %v in two goes, want %v", got, want)
	}
}

// TestSubsets: the parts of a root find each damage once, and check every
// record once.
func TestSubsets(t *testing.T) {
	m := many(t).clone()
	want := []store.RecordID{}
	for i := 0; i < len(m.starts); i += 97 {
		m.arena[m.starts[i]+60] ^= 1
		want = append(want, store.RecordID(i+1))
	}
	for _, parts := range []uint64{1, 2, 7, 5000} {
		var found []store.RecordID
		records := uint64(0)
		for part := uint64(1); part <= parts && (parts < 100 || part < 100); part++ {
			r, err := Root(t.Context(), m.input(), Options{Level: Hashes, Subset: Subset{part, parts}})
			if err != nil {
				t.Fatal(err)
			}
			records += r.Records
			found = append(found, ids(r.Bad)...)
		}
		if parts > 100 {
			if records != 99 {
				t.Errorf("99 parts of %d check %d records", parts, records)
			}
			continue
		}
		slices.Sort(found)
		if records != uint64(len(m.starts)) || !slices.Equal(found, want) {
			t.Errorf("%d parts check %d of %d records and find %v, want %v", parts, records, len(m.starts), found, want)
		}
	}
}

// TestSample: about the share is checked, the same records for the same seed.
func TestSample(t *testing.T) {
	m := many(t).clone()
	for _, start := range m.starts {
		m.arena[start+60] ^= 1
	}
	sampled := func(seed uint64) []store.RecordID {
		r, err := Root(t.Context(), m.input(), Options{Level: Hashes, Sample: Sample{Share: 0.1, Seed: seed}})
		if err != nil || r.Records != uint64(len(r.Bad)) {
			t.Fatal(r.Records, err)
		}
		return ids(r.Bad)
	}
	one := sampled(1)
	if n := len(m.starts); len(one) < n/20 || len(one) > n/5 {
		t.Errorf("%d of %d records, want a tenth", len(one), n)
	}
	if !slices.Equal(one, sampled(1)) || slices.Equal(one, sampled(2)) {
		t.Error("the seed does not decide the sample")
	}
}

func TestStoppedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Root(ctx, sample(t).input(), Options{Level: Seals})
	if !errors.Is(err, store.Interrupted) || r.NextFrom != 1 || r.Records != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestProgressGoesUpToTheEnd(t *testing.T) {
	m := many(t)
	for level := range Level(len(Levels())) {
		var last, total uint64
		_, err := Root(t.Context(), m.input(), Options{Level: level, Progress: func(done, all uint64) {
			if done < last || done > all {
				t.Errorf("progress %d after %d of %d", done, last, all)
			}
			last, total = done, all
		}})
		if err != nil || last != total || total != uint64(len(m.arena))-30 {
			t.Errorf("level %s: ended at %d of %d, %v", Levels()[level], last, total, err)
		}
	}
}

// A run that goes on where another one stopped begins its progress there, and
// every run tells where it begins before it has checked anything.
func TestProgressBeginsAtFrom(t *testing.T) {
	m := many(t)
	for level := range Level(len(Levels())) {
		for _, from := range []store.RecordID{0, 1, 2, 5} {
			var told []uint64
			_, err := Root(t.Context(), m.input(), Options{Level: level, From: from, Jobs: 1, Progress: func(done, _ uint64) {
				told = append(told, done)
			}})
			row, rowErr := rowlog.Decode(m.log[max(int(from)-1, 0)*rowlog.RowLen:][:rowlog.RowLen])
			if err != nil || rowErr != nil || len(told) < 2 || told[0] != row.Offset {
				t.Errorf("level %s from #%d: %v, want to begin at %d (%v, %v)", Levels()[level], from, told, row.Offset, err, rowErr)
			}
		}
	}
}

func TestListOfFindingsIsBounded(t *testing.T) {
	m := image{log: make([]byte, 10*rowlog.RowLen)}
	r, err := Root(t.Context(), m.input(), Options{MaxBad: 3})
	if err != nil || !slices.Equal(ids(r.Bad), []store.RecordID{1, 2, 3}) || r.Unlisted != 7 || r.Records != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzRoot verifies any bytes as a root: it never panics, names every row at
// most once, and finds a fault wherever reading the log finds one.
func FuzzRoot(f *testing.F) {
	m := imageOf(f, blob(f, "one"), blob(f, "two"))
	f.Add(m.log, m.arena)
	f.Add(m.log[:100], m.arena[:100])
	f.Add([]byte("B."), []byte{})
	f.Fuzz(func(t *testing.T, log, arena []byte) {
		m := image{log: log, arena: arena}
		_, _, readErr := rowlog.Read(bytes.NewReader(log), int64(len(log)), uint64(len(arena)))
		for level := range Level(len(Levels())) {
			r, err := Root(context.Background(), m.input(), Options{Level: level, Jobs: 1})
			if err != nil {
				t.Fatal(err)
			}
			if level == Rows && (readErr == nil) != (len(r.Bad) == 0) {
				t.Errorf("reading the log: %v; verifying it: %+v", readErr, r.Bad)
			}
			for i, b := range r.Bad {
				if b.ID == 0 || uint64(b.ID) > uint64(len(log)/rowlog.RowLen) || i > 0 && b.ID <= r.Bad[i-1].ID {
					t.Errorf("bad rows %+v", r.Bad)
				}
			}
		}
	})
}
