package cmd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// fillBatch bounds the bytes admitted in one transaction of fillRoot.
const fillBatch = 32 << 20

// fillRoot makes a native root and admits every record of src.
func fillRoot(dir string, capacity uint64, src gen.Source) error {
	return fillRootOf(native.Profile{}, dir, capacity, src)
}

// fillRootOf makes a root of a profile and admits every record of src.
func fillRootOf(p profile.Profile, dir string, capacity uint64, src gen.Source) (err error) {
	if p.Name() == root.Node {
		capacity = 0 // its arena grows
	}
	s, err := p.Create(context.Background(), dir, profile.Options{FS: osfs.New(), Capacity: capacity, NoPublish: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var batch []store.NewRecord
	var size int
	for {
		v, err := src.Next(nil)
		if err != nil && err != io.EOF {
			return err
		}
		if err == nil {
			b := v.Bytes()
			batch = append(batch, store.NewRecord{Hash: v.Hash(), Len: uint64(len(b)), Body: bytes.NewReader(b)})
			size += len(b)
		}
		if len(batch) > 0 && (err == io.EOF || size >= fillBatch) {
			if _, err := s.Execute(store.StoreRecords{Records: batch}); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		if err == io.EOF {
			return nil
		}
	}
}

// plain yields Plexes named by their number, of one data size. Each is in the
// Half 'a' or 'b', by turns.
type plain struct{ next, count, size int }

func (p *plain) Next(buf []byte) (record.View, error) {
	if p.next == p.count {
		return record.View{}, io.EOF
	}
	p.next++
	name := strconv.Itoa(p.next)
	blob, err := record.BuildBlob(nil, bytes.Repeat([]byte{byte(p.next)}, p.size))
	if err != nil {
		return record.View{}, err
	}
	half := record.Header{Name: "Half", Value: "ba"[p.next%2 : p.next%2+1]}
	return record.BuildPlex(buf, record.Coordinates{Group: "g", App: "test", Name: name, TAI: record.FormatTAI(1_000_000_000, uint32(p.next))}, []record.Header{half}, blob)
}

// mkroot makes a root of records named 1 to COUNT with SIZE bytes of data:
// `mkroot ROOT COUNT SIZE`.
func mkroot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: mkroot ROOT COUNT SIZE")
	}
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	size, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(fillRoot(ts.MkAbs(args[0]), 1<<20, &plain{count: count, size: size}))
}

// damage changes a root in one of the ways that a reader must notice:
// `damage ROOT flip|gap|overlap|duplicate ID`, `damage ROOT torn BYTES`, or
// `damage ROOT shorter ROWS`.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: damage ROOT KIND N")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	log := filepath.Join(ts.MkAbs(args[0]), "record-log")
	rows, err := os.ReadFile(log)
	ts.Check(err)
	if args[1] == "shorter" {
		ts.Check(os.WriteFile(log, rows[:len(rows)-n*rowlog.RowLen], 0o666))
		return
	}
	if args[1] == "torn" {
		ts.Check(os.WriteFile(log, append(rows, bytes.Repeat([]byte{0xff}, n)...), 0o666))
		return
	}
	row := rows[(n-1)*rowlog.RowLen : n*rowlog.RowLen]
	offset := binary.LittleEndian.Uint64(row[48:])
	switch args[1] {
	case "flip", "body":
		arena, err := os.OpenFile(filepath.Join(ts.MkAbs(args[0]), "records"), os.O_RDWR, 0)
		ts.Check(err)
		at := int64(offset)
		if args[1] == "body" { // the last byte: no glyph, but hashed
			at += int64(binary.LittleEndian.Uint64(row[56:])) - 1
		}
		b := make([]byte, 1)
		_, err = arena.ReadAt(b, at)
		ts.Check(err)
		_, err = arena.WriteAt([]byte{b[0] ^ 1}, at)
		ts.Check(errors.Join(err, arena.Close()))
		return
	case "gap":
		binary.LittleEndian.PutUint64(row[48:], offset+1)
	case "overlap":
		binary.LittleEndian.PutUint64(row[48:], offset-1)
	case "duplicate":
		copy(row, rows[:record.HashLen])
	default:
		ts.Fatalf("unknown damage %q", args[1])
	}
	ts.Check(os.WriteFile(log, rows, 0o666))
}

// cut takes bytes off the end of a file: `cut FILE BYTES`.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-n))
}

// lock holds a file of a root locked, as another program would have it open:
// `lock FILE [shared]`. unlock gives every lock back.
func lock(ts *testscript.TestScript, neg bool, args []string) {
	mode := vfs.ExclusiveLock
	if len(args) == 2 && args[1] == "shared" {
		mode, args = vfs.Shared, args[:1]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lock FILE [shared]")
	}
	f, err := osfs.New().OpenFile(ts.MkAbs(args[0]), vfs.ReadWrite)
	ts.Check(err)
	ts.Check(f.TryLock(mode))
	hold(ts, f.Close)
}

// livemap leaves a record of a closed store alive: `livemap ROOT`.
func livemap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: livemap ROOT")
	}
	s, err := native.Open(context.Background(), ts.MkAbs(args[0]), native.Options{FS: osfs.New(), NoPublish: true})
	ts.Check(err)
	res, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}}})
	ts.Check(errors.Join(err, s.Close()))
	released := s.MappingReleased()
	hold(ts, func() error {
		runtime.KeepAlive(res)
		res = nil
		for range 500 { // the collector finds that nobody holds the mapping
			runtime.GC()
			select {
			case <-released:
				return nil
			default:
			}
		}
		return errors.New("the mapping of a closed store stays")
	})
}

// held are the locks and mappings of a running script.
type held struct{ release []func() error }

type heldKey struct{}

func hold(ts *testscript.TestScript, release func() error) {
	h := ts.Value(heldKey{}).(*held)
	h.release = append(h.release, release)
}

func unlock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: unlock")
	}
	ts.Check(ts.Value(heldKey{}).(*held).all())
}

func (h *held) all() error {
	var err error
	for _, release := range h.release {
		err = errors.Join(err, release())
	}
	h.release = nil
	return err
}
