package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// The tuned copy is what lace is measured against: the retained records into a
// second arena in large writes, a second record-log, sync, rename over the old
// files. It has no locks, no checks and no recovery. It reads as lace does,
// whole spans of the arena, and starts the write-back of each buffer early; the
// sizes were chosen by measuring.
const (
	copyBuffer  = 4 << 20  // of each of the two buffers, in bytes
	copyGarbage = 64 << 10 // the longest run of unwanted bytes that is read, in bytes
)

// copyCommand is `bench copy --root DIR --kept FILE`.
func copyCommand(args []string) error {
	flags := flag.NewFlagSet("bench copy", flag.ContinueOnError)
	dir := flags.String("root", "", "the root")
	keep := flags.String("kept", "", "the kept file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	set, err := readKept(*keep)
	if err != nil {
		return err
	}
	c := &copier{in: make([]byte, copyBuffer), out: make([]byte, 0, copyBuffer)}
	return c.run(*dir, set)
}

func readKept(path string) (set *kept.Set, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := kept.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	return r.Set()
}

// copier copies the kept rows in one pass over the record-log.
type copier struct {
	from, to *os.File
	in, out  []byte
	spans    []span // wanted ranges that lie in one read, contiguous ones joined
	end      uint64 // of the written part of the new arena
}

// span is a range of the old arena.
type span struct{ offset, n uint64 }

func (c *copier) run(dir string, set *kept.Set) (err error) {
	arena, log := filepath.Join(dir, root.Records), filepath.Join(dir, root.RecordLog)
	var files [4]*os.File
	defer func() {
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
		if err == nil {
			err = replaceBoth(dir, arena, log)
		}
	}()
	for i, path := range []string{arena, log} {
		if files[i], err = os.Open(path); err != nil {
			return err
		}
		if files[i+2], err = os.Create(path + ".copy"); err != nil {
			return err
		}
	}
	c.from, c.to = files[0], files[2]
	if err := c.rows(files[1], files[3], set); err != nil {
		return err
	}
	info, err := c.from.Stat()
	if err != nil {
		return err
	}
	return errors.Join(c.to.Truncate(info.Size()), c.to.Sync(), files[3].Sync())
}

// replaceBoth puts the copies in place of the files. This is where the copy is
// not safe: a crash between the two renames leaves a mixed root.
func replaceBoth(dir string, paths ...string) error {
	for _, path := range paths {
		if err := os.Rename(path+".copy", path); err != nil {
			return err
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// rows goes through the record-log and copies what is kept.
func (c *copier) rows(log io.Reader, newLog io.Writer, set *kept.Set) error {
	in, out := bufio.NewReaderSize(log, 1<<20), bufio.NewWriterSize(newLog, 1<<20)
	var raw [rowlog.RowLen]byte
	buf := make([]byte, 0, rowlog.RowLen)
	newEnd := uint64(0)
	for i := uint64(0); ; i++ {
		if _, err := io.ReadFull(in, raw[:]); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if !set.Has(rowlog.ID(i)) {
			continue
		}
		row, err := rowlog.Decode(raw[:])
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if err := c.want(span{row.Offset, row.Len}); err != nil {
			return err
		}
		row.Offset = newEnd
		newEnd += row.Len
		buf = row.AppendTo(buf[:0])
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	if err := c.read(); err != nil {
		return err
	}
	return errors.Join(c.flush(), out.Flush())
}

// want adds a range to the next read, or reads what there is before it.
func (c *copier) want(s span) error {
	for s.n > 0 {
		if len(c.spans) > 0 {
			first, last := c.spans[0], &c.spans[len(c.spans)-1]
			end := last.offset + last.n
			switch {
			case s.offset-end > copyGarbage || s.offset+min(s.n, copyBuffer)-first.offset > copyBuffer:
				if err := c.read(); err != nil {
					return err
				}
			case s.offset == end:
				last.n += s.n
				return nil
			}
		}
		part := span{s.offset, min(s.n, copyBuffer)}
		c.spans = append(c.spans, part)
		s.offset, s.n = s.offset+part.n, s.n-part.n
	}
	return nil
}

// read reads the wanted spans at once and gathers them for writing.
func (c *copier) read() error {
	if len(c.spans) == 0 {
		return nil
	}
	first, last := c.spans[0], c.spans[len(c.spans)-1]
	b := c.in[:last.offset+last.n-first.offset]
	if _, err := c.from.ReadAt(b, int64(first.offset)); err != nil {
		return err
	}
	for _, s := range c.spans {
		part := b[s.offset-first.offset:][:s.n]
		for len(part) > 0 {
			n := min(cap(c.out)-len(c.out), len(part))
			c.out, part = append(c.out, part[:n]...), part[n:]
			if len(c.out) == cap(c.out) {
				if err := c.flush(); err != nil {
					return err
				}
			}
		}
	}
	c.spans = c.spans[:0]
	return nil
}

func (c *copier) flush() error {
	if _, err := c.to.WriteAt(c.out, int64(c.end)); err != nil {
		return err
	}
	startWriteBack(c.to, int64(c.end), int64(len(c.out)))
	c.end += uint64(len(c.out))
	c.out = c.out[:0]
	return nil
}
