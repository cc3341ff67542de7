package native

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// admit is one StoreRecords transaction (seed 002, commit rules 1-7).
func (s *Store) admit(op store.StoreRecords) (store.Result, error) {
	if s.readOnly {
		return nil, &store.Error{Kind: store.Integration, Doing: "admit", Root: s.dir, Found: "a read-only opening"}
	}
	outcomes, rows, sources, err := s.classify(op.Records) // 1 and 2
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		if err := s.writeRecords(rows, sources); err != nil { // 3 and 4
			return nil, err
		}
		if err := s.writeRows(rows); err != nil { // 5 and 6
			return nil, err
		}
		s.adopt(rows) // 7
	}
	return store.StoredResult{Outcomes: outcomes, Position: s.table.Position()}, nil
}

// classify finds what the root or the batch itself has already, and gives
// contiguous ids and ranges to the rest. sources are the records of rows.
func (s *Store) classify(records []store.NewRecord) ([]store.StoreOutcome, []rowlog.Row, []store.NewRecord, error) {
	outcomes := make([]store.StoreOutcome, len(records))
	batch := make(map[record.Hash]store.RecordID)
	var rows []rowlog.Row
	var sources []store.NewRecord
	end := s.table.End()
	for i, r := range records {
		id, known := s.table.Lookup(r.Hash)
		if !known {
			id, known = batch[r.Hash]
		}
		if known {
			outcomes[i] = store.StoreOutcome{ID: id, Duplicate: true}
			continue
		}
		row := rowlog.Row{Hash: r.Hash, Offset: end, Len: r.Len}
		if err := s.writer.CheckNew(row, r, i); err != nil {
			return nil, nil, nil, err
		}
		id = store.RecordID(uint64(s.table.Position()) + uint64(len(rows)) + 1)
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

// writeRows appends the rows and syncs the log once. The synced row is the
// admission point.
func (s *Store) writeRows(rows []rowlog.Row) error {
	encoded := make([]byte, 0, len(rows)*rowlog.RowLen)
	for _, row := range rows {
		encoded = row.AppendTo(encoded)
	}
	if _, err := s.log.WriteAt(encoded, s.logEnd()); err != nil {
		return s.reconcile(root.IOError("append to", s.dir, s.path(root.RecordLog), err), rows, encoded)
	}
	if err := s.log.Sync(); err != nil {
		return s.cutBack(root.IOError("sync", s.dir, s.path(root.RecordLog), err))
	}
	return nil
}

func (s *Store) logEnd() int64 { return int64(s.table.Position()) * rowlog.RowLen }

// reconcile establishes the durable prefix of the log after a failed write
// of rows (seed 002): the partial last row is truncated, the log is synced,
// and only then the complete rows that the write left, which must be the first
// of those it was given, are adopted. The write has failed all the same.
func (s *Store) reconcile(cause error, rows []rowlog.Row, encoded []byte) error {
	path := s.path(root.RecordLog)
	info, err := s.log.Stat()
	if err != nil {
		return s.cutBack(errors.Join(cause, root.IOError("reconcile", s.dir, path, err)))
	}
	if info.Size < s.logEnd() || info.Size > s.logEnd()+int64(len(encoded)) {
		return s.refuse(errors.Join(cause, root.Corrupt(s.dir, path, "length", fmt.Sprintf("%d bytes", info.Size),
			fmt.Sprintf("from %d to %d", s.logEnd(), s.logEnd()+int64(len(encoded))))))
	}
	added := int(info.Size-s.logEnd()) / rowlog.RowLen
	end := s.logEnd() + int64(added)*rowlog.RowLen
	if end != info.Size {
		if err := s.log.Truncate(end); err != nil {
			return s.refuse(errors.Join(cause, root.IOError("cut back", s.dir, path, err)))
		}
	}
	if err := s.log.Sync(); err != nil {
		return s.cutBack(errors.Join(cause, root.IOError("sync", s.dir, path, err)))
	}
	suffix := make([]byte, end-s.logEnd())
	if n, err := s.log.ReadAt(suffix, s.logEnd()); n < len(suffix) {
		return s.refuse(errors.Join(cause, root.IOError("reconcile", s.dir, path, err)))
	}
	if !bytes.Equal(suffix, encoded[:len(suffix)]) {
		return s.refuse(errors.Join(cause, root.Corrupt(s.dir, path, fmt.Sprintf("offset %d", s.logEnd()), "other rows", "the rows that were being written")))
	}
	s.adopt(rows[:added])
	return cause
}

// cutBack is for a failed sync of the log. A later sync that succeeds would
// prove nothing, because the system may have forgotten the pages whose
// write-back failed and go on showing them. So no row of the batch is adopted,
// the rows are cut off as well as that can be done, and the store refuses
// further use: what the disk has is for the next opening to find out, which
// reads the log past the cache.
func (s *Store) cutBack(cause error) error {
	err := s.log.Truncate(s.logEnd())
	if err == nil {
		err = s.log.Sync()
	}
	if err != nil {
		cause = errors.Join(cause, root.IOError("cut back", s.dir, s.path(root.RecordLog), err))
	}
	return s.refuse(cause)
}

// refuse makes every later operation fail with the cause.
func (s *Store) refuse(cause error) error {
	s.refusal = cause
	return cause
}

// adopt takes committed rows into resident state.
func (s *Store) adopt(rows []rowlog.Row) {
	for _, row := range rows {
		if err := s.table.Append(row); err != nil {
			panic("native: a classified row does not follow the table: " + err.Error())
		}
	}
}
