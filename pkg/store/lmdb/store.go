//go:build cgo

package lmdb

import (
	"errors"
	"io"
	"path/filepath"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/stage"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// PositionMayAdvanceExternally is the adoption metadata of this profile:
// cooperating processes share a root, and each may admit.
const PositionMayAdvanceExternally = true

// Store is an opened LMDB root. It implements store.Backend and is not safe for
// concurrent use. It keeps nothing about single records: every operation reads
// in a transaction of its own. Records that it returned outlive it.
type Store struct {
	fs       vfs.FS
	dir      string
	readOnly bool
	capacity uint64

	env     *env
	arena   vfs.File
	mapping vfs.Mapping
	writer  arena.Writer

	reader  *index.Reader
	now     lists // what the operation being executed sees
	refusal error // why the store may not be used any more
	closed  bool
}

var (
	_ profile.Store = (*Store)(nil)
	_ index.Rows    = (*view)(nil)
	_ index.Lists   = (*view)(nil)
)

// Dir returns the root directory.
func (s *Store) Dir() string { return s.dir }

// Capacity returns the length of the arena in bytes.
func (s *Store) Capacity() uint64 { return s.capacity }

// Execute implements store.Backend.
func (s *Store) Execute(op store.Op) (result store.Result, err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if admit, ok := op.(store.StoreRecords); ok {
		return s.admit(admit)
	}
	err = s.read(func() (err error) {
		result, err = s.reader.Execute(op)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// usable refuses a store that is closed or has failed.
func (s *Store) usable() error {
	switch {
	case s.closed:
		return &store.Error{Kind: store.Integration, Doing: "execute", Root: s.dir, Found: "an operation on a closed store"}
	case s.refusal != nil:
		return &store.Error{
			Kind: store.Store, Doing: "execute", Root: s.dir,
			Found: "this store must be opened again after a failure", Err: s.refusal,
		}
	}
	return nil
}

// refuse makes every later operation fail with the cause.
func (s *Store) refuse(cause error) error {
	s.refusal = cause
	return cause
}

// read runs f over a fresh snapshot and the mapping. A disk that fails under a
// mapping shows as a memory fault, in the middle of anything.
func (s *Store) read(f func() error) error {
	err := s.env.view(func(txn *mdb.Txn) (err error) {
		now, err := s.env.snapshot(txn)
		if err != nil {
			return err
		}
		s.now = lists{snapshot: now}
		defer s.now.close()
		err = mmap.Guard(f)
		return errors.Join(err, s.now.err)
	})
	var fault *mmap.FaultError
	if errors.As(err, &fault) {
		return s.refuse(root.IOError("read", s.dir, s.path(root.Records), err))
	}
	return err
}

// view is the rows and lists of the operation that is being executed.
type view struct{ s *Store }

// Position implements index.Rows.
func (v view) Position() store.Position { return v.s.now.pos }

// Lookup implements index.Rows.
func (v view) Lookup(h record.Hash) (store.RecordID, error) { return v.s.now.lookup(h) }

// Prepare implements index.Lists.
func (v view) Prepare(keys []index.Key, lo, hi store.Position) []index.Candidates {
	return v.s.now.Prepare(keys, lo, hi)
}

// Load implements index.Rows: a slice over the immutable mapped range of a
// committed row, with the mapping's owner. There is no other way to a slice.
func (v view) Load(id store.RecordID) (store.Record, error) {
	row, ok, err := v.s.now.row(id)
	if !ok || err != nil {
		return store.Record{}, err
	}
	if err := row.CheckInside(v.s.capacity); err != nil {
		return store.Record{}, v.s.env.corrupt(rowName(id), err.Error(), "")
	}
	b, owner := v.s.mapping.View(int64(row.Offset), int(row.Len))
	return store.Record{ID: id, Hash: row.Hash, Bytes: b, Owner: owner}, nil
}

// Position returns the current high-water. When it cannot be read it is zero,
// and the store refuses every later operation with the reason.
func (s *Store) Position() (pos store.Position) {
	if err := s.usable(); err != nil {
		return 0
	}
	if err := s.read(func() error { pos = s.now.pos; return nil }); err != nil {
		s.refusal = err
		return 0
	}
	return pos
}

// Lookup finds a record by its hash; zero is none.
func (s *Store) Lookup(h record.Hash) (id store.RecordID, err error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	err = s.read(func() (err error) {
		id, err = s.now.lookup(h)
		return err
	})
	return id, err
}

// Row implements profile.Store.
func (s *Store) Row(id store.RecordID) (row rowlog.Row, err error) {
	if err := s.usable(); err != nil {
		return row, err
	}
	err = s.read(func() error {
		var ok bool
		if row, ok, err = s.now.row(id); err != nil || ok {
			return err
		}
		if store.Position(id) <= s.now.pos && id != 0 {
			return s.env.corrupt(rowName(id), "no row", "one for every id")
		}
		return &store.Error{Kind: store.Integration, Doing: "read", Root: s.dir, ID: id, Found: "no such record"}
	})
	return row, err
}

// Rows implements profile.Store, by a cursor each time they are read.
func (s *Store) Rows(through store.Position) (rowlog.Rows, error) {
	rows := committedRows{pos: through, open: func() (*env, func() error, error) { return s.env, func() error { return nil }, nil }}
	if err := s.usable(); err != nil || through == 0 {
		return rows, err
	}
	last, err := s.Row(store.RecordID(through))
	rows.end = last.End()
	return rows, err
}

// Table implements profile.Store with the rows at the current position. When
// they cannot be read it is empty, and the store refuses every later operation
// with the reason.
func (s *Store) Table() *rowlog.Table {
	log := virtualLog{s.env, s.Position()}
	table, _, err := rowlog.Read(log, log.size(), s.capacity)
	if err != nil {
		s.refusal = err
		return &rowlog.Table{}
	}
	return table
}

// Arena reads records positionally.
func (s *Store) Arena() io.ReaderAt { return s.arena }

// ListStats returns nothing: posting lists are built by admissions alone.
func (s *Store) ListStats() index.Stats { return index.Stats{} }

// CandidatesVisited counts the residual candidates of all searches so far.
func (s *Store) CandidatesVisited() uint64 { return s.reader.CandidatesVisited() }

// MappingReleased is closed once neither the store nor any record holds the
// arena mapping and its shared arena-lock.
func (s *Store) MappingReleased() <-chan struct{} { return s.mapping.Released() }

// Stage implements profile.Store. The record is held in memory: a root that
// other processes share has no directory for what is not admitted yet.
func (s *Store) Stage(want record.Hash, length uint64, r io.Reader) (profile.Staged, error) {
	if err := stage.Check(s.dir, s.readOnly, want, length); err != nil {
		return nil, err
	}
	return stage.InMemory(s.dir, want, length, r)
}

// Close releases the mapping, the arena and the environment. The mapping ends
// when the last record over it is gone. Close is idempotent.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.closeFiles()
}

func (s *Store) closeFiles() error {
	var err error
	if s.mapping != nil {
		s.mapping.Release()
	}
	if s.arena != nil {
		if e := s.arena.Close(); e != nil {
			err = root.IOError("close", s.dir, s.path(root.Records), e)
		}
	}
	if s.env != nil {
		err = errors.Join(err, s.env.close())
	}
	return err
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }
