// Package verify proves the records of an arena against their rows, as deep as
// it is asked to. It goes on past damage and lists every bad record; it never
// repairs anything, and knows no profile.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
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

// Bad is a record that is not what its row says.
type Bad struct {
	ID      store.RecordID
	Hash    record.Hash
	Offset  uint64
	Problem string
}

// Report is what was proved.
type Report struct {
	Records uint64
	Bytes   uint64
	Bad     []Bad // in id order
}

// Options say how to verify.
type Options struct {
	Level Level
	// Jobs is how many records are hashed at a time; zero is one per processor.
	Jobs int
	// Progress, unless nil, is told bytes. It may be called concurrently.
	Progress func(done, total uint64)
}

// spanBytes is how many bytes are read at a time; a longer record has a span
// of its own.
const spanBytes = 4 << 20

// span is a run of rows (first, last] that is read and checked together.
type span struct {
	first, last store.RecordID // inclusive
	offset, len uint64
}

// Run verifies all rows of a table against the arena, reading it in offset
// order.
func Run(ctx context.Context, arena io.ReaderAt, table *rowlog.Table, opts Options) (Report, error) {
	report := Report{Records: uint64(table.Position()), Bytes: table.End()}
	if opts.Level == Rows || table.Position() == 0 {
		return report, nil
	}
	if opts.Jobs <= 0 {
		opts.Jobs = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	done := uint64(0)
	var group errgroup.Group
	group.SetLimit(opts.Jobs)
	buffers := make(chan []byte, opts.Jobs)
	for range opts.Jobs {
		buffers <- nil
	}
	for s := range spans(table) {
		if ctx.Err() != nil {
			break
		}
		buf := <-buffers // reading follows the order of the arena
		if uint64(cap(buf)) < s.len {
			buf = make([]byte, max(s.len, spanBytes))
		}
		buf = buf[:s.len]
		if err := read(arena, buf, s.offset); err != nil {
			return report, errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			bad := check(table, s, buf, opts.Level)
			mu.Lock()
			report.Bad = append(report.Bad, bad...)
			done += s.len
			if opts.Progress != nil {
				opts.Progress(done, report.Bytes)
			}
			mu.Unlock()
			buffers <- buf[:0]
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return report, err
	}
	sortBad(report.Bad)
	if err := ctx.Err(); err != nil {
		return report, &store.Error{Kind: store.Interrupted, Doing: "verify", Found: "stopped before every record was checked", Err: err}
	}
	return report, nil
}

// read fills buf. Bytes beyond the end of the arena read as zeros, which no
// record verifies with.
func read(arena io.ReaderAt, buf []byte, offset uint64) error {
	n, err := arena.ReadAt(buf, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	clear(buf[n:])
	return nil
}

func check(table *rowlog.Table, s span, buf []byte, level Level) []Bad {
	var bad []Bad
	v := record.NewVerifier(record.Hash{})
	for id := s.first; id <= s.last; id++ {
		row := table.Row(id)
		b := buf[row.Offset-s.offset:][:row.Len]
		if err := checkRecord(v, b, row.Hash, level); err != nil {
			bad = append(bad, Bad{id, row.Hash, row.Offset, err.Error()})
		}
	}
	return bad
}

func checkRecord(v *record.Verifier, b []byte, want record.Hash, level Level) error {
	named, err := record.ParseGlyphLine(b)
	if err == nil && named != want {
		err = fmt.Errorf("glyph line names %s", named)
	}
	if err != nil || level == Glyphs {
		return err
	}
	v.Reset(want)
	v.Write(b)
	if err := v.Check(); err != nil || level == Hashes {
		return err
	}
	view, err := record.ParseStrict(b)
	if err != nil || want.Kind() != record.Seal {
		return err
	}
	return mark.VerifySeal(view)
}
