// Package memory is the indexed in-memory store: admitted records on the heap
// and ephemeral posting lists over them. It must not know policies, facts or
// files; what it answers is defined by pkg/store/index.
package memory

import (
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/record"
)

// Store is a store.Backend in memory. New makes one; it is not safe for
// concurrent use.
type Store struct {
	rows   rows
	lists  *index.Cache
	reader *index.Reader
	closed bool
}

var _ store.Backend = (*Store)(nil)

// New returns an empty store with the default bounds for its lists.
func New() *Store { return NewWithLists(index.Options{}) }

// NewWithLists returns an empty store whose lists keep to opts.
func NewWithLists(opts index.Options) *Store {
	return over(rows{ids: make(map[record.Hash]store.RecordID)}, opts)
}

// over returns a store of these rows that has no lists yet.
func over(r rows, opts index.Options) *Store {
	s := &Store{rows: r}
	s.lists = index.NewCache(&s.rows, opts)
	s.reader = index.NewReader(&s.rows, s.lists)
	return s
}

// Expect says which queries will be asked again and again, so that the lists
// of all of them are built in one pass.
func (s *Store) Expect(queries ...store.Query) { s.lists.Expect(queries...) }

// ListStats returns what the lists have done so far.
func (s *Store) ListStats() index.Stats { return s.lists.Stats() }

// CandidatesVisited counts the residual candidates of all searches so far.
func (s *Store) CandidatesVisited() uint64 { return s.reader.CandidatesVisited() }

// Execute implements store.Backend.
func (s *Store) Execute(op store.Op) (store.Result, error) {
	if s.closed {
		return nil, &store.Error{Kind: store.Integration, Doing: "execute", Found: fmt.Sprintf("operation %T on a closed store", op)}
	}
	if admit, ok := op.(store.StoreRecords); ok {
		return s.admit(admit)
	}
	return s.reader.Execute(op)
}

// Close implements store.Backend. Records that were returned stay valid.
func (s *Store) Close() error {
	s.closed = true
	return nil
}

// admit copies all new records of the batch before it adopts the first, so
// that a body that cannot be read admits nothing.
func (s *Store) admit(op store.StoreRecords) (store.Result, error) {
	outcomes := make([]store.StoreOutcome, len(op.Records))
	batch := make(map[record.Hash]store.RecordID)
	var added []store.Record
	for i, in := range op.Records {
		id, known := s.rows.ids[in.Hash]
		if !known {
			id, known = batch[in.Hash]
		}
		if known {
			outcomes[i] = store.StoreOutcome{ID: id, Duplicate: true}
			continue
		}
		body, err := copyBody(i, in)
		if err != nil {
			return nil, err
		}
		id = store.RecordID(len(s.rows.records) + len(added) + 1)
		batch[in.Hash] = id
		outcomes[i] = store.StoreOutcome{ID: id}
		added = append(added, store.Record{ID: id, Hash: in.Hash, Bytes: body})
	}
	s.rows.records = append(s.rows.records, added...)
	for _, rec := range added {
		s.rows.ids[rec.Hash] = rec.ID
	}
	return store.StoredResult{Outcomes: outcomes, Position: s.rows.Position()}, nil
}

// copyBody reads as it goes, so that a wrong length allocates nothing that is
// not there. The glyph line is looked at because a record stored under another
// hash than its own could never be loaded again.
func copyBody(i int, in store.NewRecord) ([]byte, error) {
	if in.Body == nil || in.Len == 0 || in.Len > 1<<62 {
		return nil, &store.Error{Kind: store.Integration, Doing: "admit", Where: fmt.Sprintf("input %d", i), Hash: in.Hash, Found: fmt.Sprintf("a body of %d bytes", in.Len)}
	}
	body, err := io.ReadAll(io.NewSectionReader(in.Body, 0, int64(in.Len)))
	if err == nil && uint64(len(body)) != in.Len {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, &store.Error{Kind: store.Store, Doing: "admit", Where: fmt.Sprintf("input %d", i), Hash: in.Hash, Err: err}
	}
	if named, err := record.ParseGlyphLine(body); err != nil || named != in.Hash {
		return nil, &store.Error{Kind: store.Integration, Doing: "admit", Where: fmt.Sprintf("input %d", i), Hash: in.Hash, Found: fmt.Sprintf("the glyph line of %s", named), Err: err}
	}
	return body, nil
}

// rows are the admitted records in admission order; it implements index.Rows.
type rows struct {
	records []store.Record
	ids     map[record.Hash]store.RecordID
}

func (r *rows) Position() store.Position { return store.Position(len(r.records)) }

func (r *rows) Lookup(h record.Hash) (store.RecordID, error) { return r.ids[h], nil }

func (r *rows) Load(id store.RecordID) (store.Record, error) { return r.records[id-1], nil }
