package index_test

import (
	"errors"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/storetest"
)

func hashes(r *testRows, ids ...int) []record.Hash {
	var hs []record.Hash
	for _, id := range ids {
		hs = append(hs, r.records[id-1].Hash)
	}
	return hs
}

// lyingRows find every hash at the record before its own.
type lyingRows struct{ *testRows }

func (l lyingRows) Lookup(h record.Hash) (store.RecordID, error) {
	id, err := l.testRows.Lookup(h)
	return id - 1, err
}

// scanStore is a store without any list: what is left is the executor and the
// matcher.
type scanStore struct {
	rows   testRows
	closed bool
}

func (s *scanStore) Close() error {
	s.closed = true
	return nil
}

func (s *scanStore) Execute(op store.Op) (store.Result, error) {
	if s.closed {
		return nil, errors.New("closed")
	}
	admit, ok := op.(store.StoreRecords)
	if !ok {
		return index.NewReader(&s.rows, nil).Execute(op)
	}
	res := store.StoredResult{Outcomes: []store.StoreOutcome{}}
	before := s.rows.records
	for _, in := range admit.Records {
		id, _ := s.rows.Lookup(in.Hash)
		if id != 0 {
			res.Outcomes = append(res.Outcomes, store.StoreOutcome{ID: id, Duplicate: true})
			continue
		}
		body, err := io.ReadAll(io.NewSectionReader(in.Body, 0, int64(in.Len)))
		if err != nil || len(body) == 0 || uint64(len(body)) != in.Len {
			s.rows.records = before
			return nil, errors.New("bad body")
		}
		s.rows.add(storetest.Record{Hash: in.Hash, Bytes: body})
		res.Outcomes = append(res.Outcomes, store.StoreOutcome{ID: store.RecordID(len(s.rows.records))})
	}
	res.Position = s.rows.Position()
	return res, nil
}
