package node

import (
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/stage"
)

// PositionMayAdvanceExternally is the adoption metadata of this profile (seed
// 002): one owner alone advances a Node root.
const PositionMayAdvanceExternally = false

// Store is an opened Node root. It implements store.Backend and is not safe for
// concurrent use. Records that it returned own their bytes.
type Store struct {
	own            *ownership
	releaseOnClose bool
	tornBytes      uint64
	repair         logfile.Repair // of a writer; done, unless the opening was postponed

	files    *logfile.Files
	table    *rowlog.Table
	pages    pages
	admitter logfile.Admitter

	reader *index.Reader
	lists  *index.Cache
	closed bool
}

var (
	_ profile.Store = (*Store)(nil)
	_ index.Rows    = (*Store)(nil)
)

// Dir returns the root directory.
func (s *Store) Dir() string { return s.own.dir }

// Table returns the committed rows. They may be read, not changed.
func (s *Store) Table() *rowlog.Table { return s.table }

// TornBytes returns the length of an incomplete last row that a read-only
// opening found and left alone.
func (s *Store) TornBytes() uint64 { return s.tornBytes }

// Position implements index.Rows.
func (s *Store) Position() store.Position { return s.table.Position() }

// Lookup implements index.Rows.
func (s *Store) Lookup(h record.Hash) (store.RecordID, error) {
	id, _ := s.table.Lookup(h)
	return id, nil
}

// Load implements index.Rows.
func (s *Store) Load(id store.RecordID) (store.Record, error) {
	b, err := s.pages.record(id)
	if err != nil {
		return store.Record{}, err
	}
	return store.Record{ID: id, Hash: s.table.Row(id).Hash, Bytes: b}, nil
}

// Row implements profile.Store.
func (s *Store) Row(id store.RecordID) (rowlog.Row, error) {
	if id == 0 || store.Position(id) > s.table.Position() {
		return rowlog.Row{}, &store.Error{Kind: store.Integration, Doing: "read", Root: s.Dir(), ID: id, Found: "no such record"}
	}
	return s.table.Row(id), nil
}

// Rows implements profile.Store. Nobody but the owner of a Node root advances
// it, so that there are no rows through an earlier position to ask for.
func (s *Store) Rows(through store.Position) (rowlog.Rows, error) {
	if through != s.table.Position() {
		return nil, &store.Error{
			Kind: store.Integration, Doing: "read rows", Root: s.Dir(),
			Found: fmt.Sprintf("a position of %d", through), Want: fmt.Sprintf("%d", s.table.Position()),
		}
	}
	return s.table, nil
}

// Arena reads records positionally.
func (s *Store) Arena() io.ReaderAt { return s.files.Arena }

// Expect says which queries will be asked again and again, so that the lists
// of all of them are built in one pass.
func (s *Store) Expect(queries ...store.Query) { s.lists.Expect(queries...) }

// ListStats returns what the posting lists have done so far.
func (s *Store) ListStats() index.Stats { return s.lists.Stats() }

// CandidatesVisited counts the residual candidates of all searches so far.
func (s *Store) CandidatesVisited() uint64 { return s.reader.CandidatesVisited() }

// Execute implements store.Backend.
func (s *Store) Execute(op store.Op) (store.Result, error) {
	if s.closed {
		return nil, &store.Error{Kind: store.Integration, Doing: "execute", Root: s.Dir(), Found: fmt.Sprintf("operation %T on a closed store", op)}
	}
	if err := s.admitter.Refusal(); err != nil {
		return nil, err
	}
	if admit, ok := op.(store.StoreRecords); ok {
		if s.own.readOnly {
			return nil, &store.Error{Kind: store.Integration, Doing: "admit", Root: s.Dir(), Found: "a read-only opening"}
		}
		return s.admitter.Admit(admit)
	}
	return s.reader.Execute(op)
}

// Stage implements profile.Store. The record is held in memory: the layout of
// this profile has no directory for what is not admitted yet.
func (s *Store) Stage(want record.Hash, length uint64, r io.Reader) (profile.Staged, error) {
	if err := stage.Check(s.Dir(), s.own.readOnly, want, length); err != nil {
		return nil, err
	}
	return stage.InMemory(s.Dir(), want, length, r)
}

// Close closes the files and, for a store that Open or Create returned, removes
// the sentinel at the very end; it stays when a close failed. It publishes
// nothing. Close is idempotent.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.files.Close()
	if s.releaseOnClose {
		err = s.own.finish(err)
	}
	return err
}
