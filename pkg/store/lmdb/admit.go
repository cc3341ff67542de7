//go:build cgo

package lmdb

import (
	"errors"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
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
		outcomes, rows, sources, err := s.classify(before, op.Records)
		if err != nil {
			return err
		}
		result = store.StoredResult{Outcomes: outcomes, Position: before.pos + store.Position(len(rows))}
		if err := s.writeRecords(rows, sources); err != nil {
			return err
		}
		return s.insert(txn, before.pos, rows)
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

// classify finds what the root or the batch itself has already, and gives
// contiguous ids and ranges to the rest. sources are the records of rows.
func (s *Store) classify(before snapshot, records []store.NewRecord) ([]store.StoreOutcome, []rowlog.Row, []store.NewRecord, error) {
	outcomes := make([]store.StoreOutcome, len(records))
	batch := make(map[record.Hash]store.RecordID)
	var rows []rowlog.Row
	var sources []store.NewRecord
	end := before.end
	for i, r := range records {
		id, known := batch[r.Hash]
		if !known {
			var err error
			if id, err = before.lookup(r.Hash); err != nil {
				return nil, nil, nil, err
			}
			known = id != 0
		}
		if known {
			outcomes[i] = store.StoreOutcome{ID: id, Duplicate: true}
			continue
		}
		row := rowlog.Row{Hash: r.Hash, Offset: end, Len: r.Len}
		if err := s.writer.CheckNew(row, r, i); err != nil {
			return nil, nil, nil, err
		}
		id = store.RecordID(uint64(before.pos) + uint64(len(rows)) + 1)
		batch[r.Hash] = id
		outcomes[i] = store.StoreOutcome{ID: id}
		rows, sources = append(rows, row), append(sources, r)
		end = row.End()
	}
	return outcomes, rows, sources, nil
}

// writeRecords writes the records at the committed end and syncs the arena
// once. Nothing names these bytes yet: after a failure they are residue.
func (s *Store) writeRecords(rows []rowlog.Row, sources []store.NewRecord) error {
	if len(rows) == 0 {
		return nil
	}
	for i, row := range rows {
		if err := s.writer.Copy(row, sources[i]); err != nil {
			return err
		}
	}
	// Without this, a power cut could leave rows that name bytes which never
	// reached the disk.
	if err := s.arena.Sync(); err != nil {
		return s.refuse(root.IOError("sync", s.dir, s.path(root.Records), err))
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
