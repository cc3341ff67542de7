//go:build cgo

package lmdb

import (
	"errors"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// admit is one StoreRecords: a write transaction, which only one process has at
// a time, finds the committed end, writes and syncs the bytes behind it, and
// commits their rows, hashes and postings together.
func (s *Store) admit(op store.StoreRecords) (store.Result, error) {
	if s.readOnly {
		return nil, &store.Error{Kind: store.Integration, Doing: "admit", Root: s.dir, Found: "a read-only opening"}
	}
	var result store.StoredResult
	began := false
	err := s.env.update(func(txn *mdb.Txn) error {
		began = true
		before, err := s.env.snapshot(txn)
		if err != nil {
			return err
		}
		batch, err := s.writer.Classify(before.pos, before.end, before.lookup, op.Records)
		if err != nil {
			return err
		}
		result = store.StoredResult{Outcomes: batch.Outcomes, Position: before.pos + store.Position(len(batch.Rows))}
		if err := s.writeRecords(batch); err != nil {
			return err
		}
		return s.insert(txn, before.pos, batch.Rows)
	})
	if err != nil {
		return nil, s.settle(err, began)
	}
	return result, nil
}

// settle decides whether a store may be used on after a failed admission. What
// LMDB refuses before it writes it has undone; after a commit that failed in
// the middle only the next opening can tell what the disk has.
func (s *Store) settle(err error, began bool) error {
	var op *mdb.OpError
	if began && errors.As(err, &op) && op.Op == "mdb_txn_commit" && !vfs.NoSpace(err) {
		return s.refuse(err)
	}
	return err
}

// writeRecords writes the records of a batch at the committed end and syncs the
// arena once. Nothing names these bytes yet: after a failure they are residue.
func (s *Store) writeRecords(batch arena.Batch) error {
	if len(batch.Rows) == 0 {
		return nil
	}
	if err := s.writer.CopyAll(batch); err != nil {
		return err
	}
	if err := s.writer.Sync(); err != nil {
		return s.refuse(err)
	}
	return nil
}

// insert adds the rows behind a position.
func (s *Store) insert(txn *mdb.Txn, before store.Position, rows []rowlog.Row) error {
	w := inserter{env: s.env, arena: s.arena}
	for i, row := range rows {
		err := w.insert(txn, store.RecordID(uint64(before)+uint64(i)+1), row)
		var form *record.FormatError
		if errors.As(err, &form) {
			err = &store.Error{Kind: store.Integration, Doing: "admit", Root: s.dir, Hash: row.Hash, Want: "a validated record", Err: form}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
