package native

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Store is an opened native root. It implements store.Backend and is not safe
// for concurrent use. Records that it returned outlive it.
type Store struct {
	own            *Ownership
	releaseOnClose bool
	fs             vfs.FS
	dir            string
	readOnly       bool
	tornBytes      uint64
	postponed      bool           // nothing in the root changes by the opening
	repair         logfile.Repair // of a writer; done, unless it is postponed

	files    *logfile.Files
	mapping  vfs.Mapping
	table    *rowlog.Table
	admitter logfile.Admitter

	reader *index.Reader
	lists  *index.Cache
	stage  stageDir
	closed bool
}

var (
	_ store.Backend = (*Store)(nil)
	_ index.Rows    = (*Store)(nil)
)

// PositionMayAdvanceExternally is the adoption metadata of this profile (seed
// 002): one owner alone advances a native root.
const PositionMayAdvanceExternally = false

// Dir returns the root directory.
func (s *Store) Dir() string { return s.dir }

// Capacity returns the length of the arena in bytes.
func (s *Store) Capacity() uint64 { return s.files.ArenaSize }

// Table returns the committed rows. They may be read, not changed.
func (s *Store) Table() *rowlog.Table { return s.table }

// Row implements profile.Store.
func (s *Store) Row(id store.RecordID) (rowlog.Row, error) {
	if id == 0 || store.Position(id) > s.table.Position() {
		return rowlog.Row{}, &store.Error{Kind: store.Integration, Doing: "read", Root: s.dir, ID: id, Found: "no such record"}
	}
	return s.table.Row(id), nil
}

// Rows implements profile.Store. Nobody but the owner of a native root advances
// it, so that there are no rows through an earlier position to ask for.
func (s *Store) Rows(through store.Position) (rowlog.Rows, error) {
	if through != s.table.Position() {
		return nil, &store.Error{
			Kind: store.Integration, Doing: "read rows", Root: s.dir,
			Found: fmt.Sprintf("a position of %d", through), Want: fmt.Sprintf("%d", s.table.Position()),
		}
	}
	return s.table, nil
}

// TornBytes returns the length of an incomplete last row that a read-only
// opening found and left alone.
func (s *Store) TornBytes() uint64 { return s.tornBytes }

// openIndex sets up the posting lists. Sweeps and readers never publish one.
func (s *Store) openIndex(opts Options) {
	s.lists = index.NewCache(s, index.Options{
		MemoryBytes: opts.IndexMemory,
		Durable:     listdir.New(s.fs, s.path(root.Indexes)),
		Publish:     !s.readOnly && !opts.NoPublish,
	})
	s.reader = index.NewReader(s, s.lists)
}

// Expect says which queries will be asked again and again, so that the lists
// of all of them are built in one pass.
func (s *Store) Expect(queries ...store.Query) { s.lists.Expect(queries...) }

// ListStats returns what the posting lists have done so far.
func (s *Store) ListStats() index.Stats { return s.lists.Stats() }

// Execute implements store.Backend.
func (s *Store) Execute(op store.Op) (store.Result, error) {
	if s.closed {
		return nil, &store.Error{Kind: store.Integration, Doing: "execute", Root: s.dir, Found: fmt.Sprintf("operation %T on a closed store", op)}
	}
	if err := s.admitter.Refusal(); err != nil {
		return nil, err
	}
	if admit, ok := op.(store.StoreRecords); ok {
		if s.readOnly {
			return nil, &store.Error{Kind: store.Integration, Doing: "admit", Root: s.dir, Found: "a read-only opening"}
		}
		return s.admitter.Admit(admit)
	}
	return s.read(op)
}

// read executes an operation over the mapping. A disk that fails under a
// mapping shows as a memory fault, in the middle of anything: the lists may be
// half built then, so the store is not used further.
func (s *Store) read(op store.Op) (result store.Result, err error) {
	err = mmap.Guard(func() (err error) {
		result, err = s.reader.Execute(op)
		return err
	})
	var fault *mmap.FaultError
	if errors.As(err, &fault) {
		return nil, s.admitter.Refuse(root.IOError("read", s.dir, s.path(root.Records), err))
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Position implements index.Rows.
func (s *Store) Position() store.Position { return s.table.Position() }

// Lookup implements index.Rows.
func (s *Store) Lookup(h record.Hash) (store.RecordID, error) {
	id, _ := s.table.Lookup(h)
	return id, nil
}

// Load implements index.Rows: a slice over the immutable mapped range of an
// accepted row, with the mapping's owner. There is no other way to a slice.
func (s *Store) Load(id store.RecordID) (store.Record, error) {
	row := s.table.Row(id)
	b, owner := s.mapping.View(int64(row.Offset), int(row.Len))
	return store.Record{ID: id, Hash: row.Hash, Bytes: b, Owner: owner}, nil
}

// Close releases the mapping, the files and, for a store that Open or Create
// returned, the lifetime lock. It publishes nothing. The mapping ends when the
// last record over it is gone. Close is idempotent.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := errors.Join(s.stage.removeAll(s), s.closeFiles())
	if s.releaseOnClose {
		err = errors.Join(err, s.own.Release())
	}
	return err
}

// MappingReleased is closed once neither the store nor any record holds the
// arena mapping and its shared arena-lock.
func (s *Store) MappingReleased() <-chan struct{} { return s.mapping.Released() }

func (s *Store) closeFiles() error {
	if s.mapping != nil {
		s.mapping.Release()
	}
	if s.files == nil {
		return nil
	}
	return s.files.Close()
}

// CandidatesVisited counts the residual candidates of all searches so far.
func (s *Store) CandidatesVisited() uint64 { return s.reader.CandidatesVisited() }

// Arena reads records positionally. It is for maintenance, which reads in
// offset order and must not fault on a mapping.
func (s *Store) Arena() io.ReaderAt { return s.files.Arena }
