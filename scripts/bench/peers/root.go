package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// records reads the records of a native root in the order of their ids, in one
// pass over its files.
type records struct {
	log, arena         *os.File
	logBytes, arenaBuf *bufio.Reader
	last               uint64 // the id that was read last
	buf                []byte
}

func openRecords(dir string) (*records, error) {
	log, err := os.Open(filepath.Join(dir, root.RecordLog))
	if err != nil {
		return nil, err
	}
	arena, err := os.Open(filepath.Join(dir, root.Records))
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &records{log: log, arena: arena,
		logBytes: bufio.NewReaderSize(log, 1<<20), arenaBuf: bufio.NewReaderSize(arena, 4<<20)}, nil
}

func (r *records) close() error { return errors.Join(r.log.Close(), r.arena.Close()) }

// next returns the next record, and io.EOF behind the last. The bytes are valid
// until the next call.
func (r *records) next() (id uint64, rec []byte, err error) {
	var raw [rowlog.RowLen]byte
	if _, err := io.ReadFull(r.logBytes, raw[:]); err != nil {
		return 0, nil, err // io.EOF between two rows
	}
	row, err := rowlog.Decode(raw[:])
	if err != nil {
		return 0, nil, fmt.Errorf("row %d: %w", r.last, err)
	}
	if uint64(cap(r.buf)) < row.Len {
		r.buf = make([]byte, row.Len)
	}
	rec = r.buf[:row.Len] // records lie one behind the other
	if _, err := io.ReadFull(r.arenaBuf, rec); err != nil {
		return 0, nil, fmt.Errorf("record #%d: %w", r.last+1, err)
	}
	r.last++
	return r.last, rec, nil
}

// batches calls do with the records until they end, and between after every n
// of them and behind the last.
func (r *records) batches(n uint64, do func(id uint64, rec []byte) error, between func() error) error {
	for {
		id, rec, err := r.next()
		if err == io.EOF {
			return between()
		}
		if err != nil {
			return err
		}
		if err := do(id, rec); err != nil {
			return err
		}
		if id%n == 0 {
			if err := between(); err != nil {
				return err
			}
		}
	}
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

// removed returns the ids that a set leaves out, in order.
func removed(set *kept.Set) []uint64 {
	ids := make([]uint64, 0, uint64(set.Boundary())-set.Count())
	next := uint64(1)
	for id := range set.IDs() {
		for ; next < uint64(id); next++ {
			ids = append(ids, next)
		}
		next = uint64(id) + 1
	}
	for ; next <= uint64(set.Boundary()); next++ {
		ids = append(ids, next)
	}
	return ids
}

// check compares a database with what it must hold.
func check(k kind, dir, rootDir string, set *kept.Set) (err error) {
	r, err := openRecords(rootDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	want := func() (uint64, []byte, error) {
		for {
			id, rec, err := r.next()
			if err != nil || set == nil || set.Has(store.RecordID(id)) {
				return id, rec, err
			}
		}
	}
	err = k.each(dir, func(id uint64, rec []byte) error {
		wantID, wantRec, err := want()
		switch {
		case err == io.EOF:
			return fmt.Errorf("record #%d is there and should not", id)
		case err != nil:
			return err
		case id != wantID:
			return fmt.Errorf("found record #%d, want #%d", id, wantID)
		case !bytes.Equal(rec, wantRec):
			return fmt.Errorf("record #%d has other bytes than in the root", id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if id, _, err := want(); err != io.EOF {
		return errors.Join(fmt.Errorf("record #%d is missing", id), err)
	}
	return nil
}

// replace puts a file that was written in place of another, durably.
func replace(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// key is the key of an id.
func key(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }
