// Package verify proves the rows of a root and the records they point at, as
// deep as it is asked to. It goes on past damage and lists everything that is
// bad; it never repairs or writes anything, and knows no profile.
//
// The rows are read once, in order, and the arena with them: in offset order,
// in large pieces, one at a time; the pieces are checked on all processors.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// Level is how deep a verification goes; each includes those before it.
type Level uint8

// The levels.
const (
	Rows   Level = iota // the rows by themselves, as opening checks them
	Glyphs              // the glyph line of every record
	Hashes              // the full typed hash of every record
	Seals               // every rule of every record, and the mark of every Seal
)

// Levels lists the names of the levels, in order.
func Levels() []string { return []string{"rows", "glyphs", "hashes", "seals"} }

// ParseLevel returns the level of a name.
func ParseLevel(name string) (Level, error) {
	for i, n := range Levels() {
		if n == name {
			return Level(i), nil
		}
	}
	return 0, fmt.Errorf("level %q is not one of %v", name, Levels())
}

// Bad is a row that is not what it must be, or whose record is not. Hash and
// Offset are zero when the row itself cannot be decoded.
type Bad struct {
	ID      store.RecordID
	Hash    record.Hash
	Offset  uint64 // of the record in the arena, in bytes
	Problem string
}

// Report is what was proved.
type Report struct {
	// Records and Bytes were checked, as deep as the level asks: the rows, and
	// the lengths they give. Rows outside of From, Subset and Sample are only
	// checked as rows, and not counted.
	Records uint64
	Bytes   uint64
	// Bad lists every bad row among them once, in id order, up to
	// Options.MaxBad findings; Unlisted counts the findings beyond.
	Bad      []Bad
	Unlisted uint64
	// TornBytes is the length of an incomplete last row. It was never
	// admitted, and is no damage.
	TornBytes uint64
	// NextFrom is where to go on after a stop: the first id that was not
	// checked. It is zero when everything was.
	NextFrom store.RecordID
}

// Options say how to verify. The zero value checks the rows alone.
type Options struct {
	Level Level
	// From is the first id whose record is checked; rows are always checked
	// from the first one on.
	From store.RecordID
	// Subset and Sample choose among the records that are checked; their zero
	// values choose all.
	Subset Subset
	Sample Sample
	// Jobs is how many pieces are checked at a time, at most MostJobs; zero is
	// one per processor.
	Jobs int
	// MaxBad bounds the list of findings, so that a log of nothing but garbage
	// cannot fill the memory; zero is DefaultMaxBad.
	MaxBad int
	// Progress, unless nil, is told checked and all bytes, from one goroutine
	// at a time. The first call says where the run begins.
	Progress func(done, total uint64)
}

// Subset is one of several parts of a root that do not overlap and together
// are the whole root. The zero value is the whole root.
type Subset struct{ Part, Parts uint64 } // Part is from 1 to Parts

// has reports whether a record belongs to the part: neighbours belong to
// different ones, so that every part is spread over the whole arena.
func (s Subset) has(id store.RecordID) bool {
	return s.Parts == 0 || (uint64(id)-1)%s.Parts == s.Part-1
}

// Sample is a share of the records, chosen at random. The zero value is all.
type Sample struct {
	Share float64 // of the records, above 0 and at most 1
	Seed  uint64  // equal seeds choose the same records
}

func (s Sample) has(id store.RecordID) bool {
	if s.Share == 0 {
		return true
	}
	// One generator per record makes the choice independent of where a run
	// starts.
	return rand.New(rand.NewPCG(s.Seed, uint64(id))).Float64() < s.Share
}

// chooses reports whether the record of an id is checked.
func (o Options) chooses(id store.RecordID) bool {
	return id >= o.From && o.Subset.has(id) && o.Sample.has(id)
}

// MostJobs bounds Options.Jobs: a buffer is set aside for each of them.
const MostJobs = 1 << 10

// DefaultMaxBad is how many findings are listed unless Options say otherwise.
const DefaultMaxBad = 1 << 17

// Input is a root's record-log and records, open for reading under its
// lifetime lock.
type Input struct {
	Log      io.ReaderAt
	LogSize  int64
	Arena    io.ReaderAt
	Capacity uint64 // the length of the arena, in bytes
}

// Root verifies a root, whatever state its rows are in. Damage is in the
// report; an error means that the log could not be read, or, as Interrupted,
// that ctx ended, and the report says what was proved until then.
func Root(ctx context.Context, in Input, opts Options) (Report, error) {
	total, err := lastEnd(in)
	if err != nil {
		return Report{}, err
	}
	r := newRun(ctx, in.Arena, in.Capacity, total, opts)
	r.prints.rows = uint64(in.LogSize) / rowlog.RowLen
	torn, err := rowlog.Scan(in.Log, in.LogSize, r.encodedRow)
	r.report.TornBytes = torn
	if err != nil && !errors.Is(err, errStopped) {
		return r.end(fmt.Errorf("read the record-log: %w", err))
	}
	if err := r.findDuplicates(in.Log); err != nil {
		return r.end(fmt.Errorf("read the record-log: %w", err))
	}
	return r.end(nil)
}

// lastEnd returns the end of the last row that can be decoded among the last
// few, for the progress display.
func lastEnd(in Input) (uint64, error) {
	const tail = 64
	rows := in.LogSize / rowlog.RowLen
	from := max(0, rows-tail) * rowlog.RowLen
	end := uint64(0)
	_, err := rowlog.Scan(io.NewSectionReader(in.Log, from, in.LogSize-from), rows*rowlog.RowLen-from, func(_ uint64, encoded []byte) error {
		if row, err := rowlog.Decode(encoded); err == nil && row.End() <= in.Capacity {
			end = max(end, row.End())
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read the record-log: %w", err)
	}
	return end, nil
}

func (o Options) maxBad() int {
	if o.MaxBad > 0 {
		return o.MaxBad
	}
	return DefaultMaxBad
}

func (o Options) jobs() int {
	if o.Jobs > 0 {
		return min(o.Jobs, MostJobs)
	}
	return runtime.GOMAXPROCS(0)
}

// merge sorts the findings and makes one of those about the same row.
func merge(bad []Bad) []Bad {
	slices.SortStableFunc(bad, func(a, b Bad) int { return cmp.Compare(a.ID, b.ID) })
	merged := bad[:0]
	for _, b := range bad {
		if last := len(merged) - 1; last >= 0 && merged[last].ID == b.ID {
			merged[last].Problem += "; " + b.Problem
			continue
		}
		merged = append(merged, b)
	}
	return merged
}
