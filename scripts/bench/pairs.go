package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// compaction is one row of the table: a data set, what stays, and whether the
// caches are cold.
type compaction struct {
	set    dataset
	choice choice
	cold   bool
}

func (c compaction) temperature() string {
	if c.cold {
		return "cold"
	}
	return "warm"
}

// outcome is what the pairs of a compaction came to.
type outcome struct {
	compaction
	retained   uint64 // bytes
	lace, copy []measured
	ratios     []float64 // wall of lace over that of the copy next to it
	document   compactDocument
}

// compactDocument is what the table takes from the document of lace compact.
type compactDocument struct {
	Retained struct{ Records, Bytes uint64 }
	Written  uint64 `json:"written_bytes"`
	Phases   []struct {
		Name    string
		Seconds float64
	}
}

// pairs measures lace and the copy in turns, each on a root of its own that
// was copied right before. The side that begins alternates.
func (b *bench) pairs(ctx context.Context, c compaction, n int) (outcome, error) {
	o := outcome{compaction: c}
	source, err := b.make(ctx, c.set)
	if err != nil {
		return o, err
	}
	keep := filepath.Join(b.dir, c.set.name+"-"+c.choice.name+".kept")
	if o.retained, err = keepFile(source, c.choice, keep); err != nil {
		return o, err
	}
	for i := range n {
		sides := []func() error{
			func() error { return b.side(ctx, source, c.cold, &o.lace, b.laceCompact(keep)) },
			func() error { return b.side(ctx, source, c.cold, &o.copy, b.tunedCopy(keep)) },
		}
		for j := range sides {
			if err := sides[(i+j)%2](); err != nil {
				return o, err
			}
		}
		o.ratios = append(o.ratios, o.lace[i].wall.Seconds()/o.copy[i].wall.Seconds())
	}
	if err := json.Unmarshal(o.lace[n-1].stdout, &o.document); err != nil {
		return o, fmt.Errorf("document of lace compact: %w", err)
	}
	if o.document.Retained.Bytes != o.retained {
		return o, fmt.Errorf("lace retained %d bytes, want %d", o.document.Retained.Bytes, o.retained)
	}
	return o, os.Remove(keep)
}

func (b *bench) laceCompact(keep string) func(dir string) command {
	return func(dir string) command {
		args := []string{"compact", dir, "--kept", keep, "--max-removed", "100%", "--json", "-q"}
		return command{name: b.tool("lace"), args: append(args, b.toLace...)}
	}
}

func (b *bench) tunedCopy(keep string) func(dir string) command {
	return func(dir string) command {
		return command{name: b.self, args: []string{"copy", "--root", dir, "--kept", keep}}
	}
}

// side measures one command on a fresh copy of the source root.
func (b *bench) side(ctx context.Context, source string, cold bool, runs *[]measured, of func(dir string) command) error {
	work := filepath.Join(b.dir, "work")
	if err := copyRoot(source, work); err != nil {
		return err
	}
	if err := b.temper(cold, work); err != nil {
		return err
	}
	what := of(work)
	what.watch = work
	m, err := measure(ctx, what)
	if err != nil {
		return err
	}
	*runs = append(*runs, m)
	if what.after != nil {
		if _, err := measure(ctx, *what.after); err != nil {
			return err
		}
	}
	return os.RemoveAll(work)
}

// temper makes the caches cold, or warm for the files of a directory.
func (b *bench) temper(cold bool, dir string) error {
	if cold {
		if !dropCaches() {
			return errors.New("the caches cannot be dropped: run as root on Linux, or with --cold=false")
		}
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue // posting lists
		}
		if err := readFile(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads the storage of a file once.
func readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	n, err := usedLen(path)
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(f, n), make([]byte, 4<<20))
	}
	return errors.Join(err, f.Close())
}

// usedLen returns how much of a file is in use: an arena is sparse, and its
// record-log says where it ends.
func usedLen(path string) (int64, error) {
	dir := filepath.Dir(path)
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if filepath.Base(path) != root.Records {
		return info.Size(), nil
	}
	log, err := os.Open(filepath.Join(dir, root.RecordLog))
	if err != nil {
		return 0, err
	}
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil || size < rowlog.RowLen {
		return 0, errors.Join(err, log.Close())
	}
	var raw [rowlog.RowLen]byte
	if _, err := log.ReadAt(raw[:], size-rowlog.RowLen); err != nil {
		return 0, errors.Join(err, log.Close())
	}
	row, err := rowlog.Decode(raw[:])
	return int64(row.End()), errors.Join(err, log.Close())
}

// copyRoot makes dst a durable copy of the root src.
func copyRoot(src, dst string) error {
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	if err := os.MkdirAll(dst, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue // posting lists are made again
		}
		if err := copyFile(filepath.Join(src, e.Name()), filepath.Join(dst, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(src, dst string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	used, err := usedLen(src)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(out, in, used); err != nil {
		return err
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return errors.Join(out.Truncate(info.Size()), out.Sync())
}
