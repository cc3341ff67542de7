package native

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// copyBytes is the size of the buffer that admission copies records through.
const copyBytes = 1 << 20

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
		if err := s.checkNew(row, r, i); err != nil {
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

func (s *Store) checkNew(row rowlog.Row, r store.NewRecord, i int) error {
	if _, err := record.ParseHash(r.Hash[:]); err != nil || r.Body == nil || row.Validate() != nil {
		return &store.Error{
			Kind: store.Integration, Doing: "admit", Root: s.dir, Where: fmt.Sprintf("input %d", i),
			Found: fmt.Sprintf("a record of %d bytes under hash %q", r.Len, r.Hash[:]), Want: "a validated record", Err: err,
		}
	}
	if row.End() > s.capacity {
		return &store.Error{
			Kind: store.LimitExceeded, Doing: "admit", Root: s.dir, Where: fmt.Sprintf("input %d", i), Hash: r.Hash,
			Found: fmt.Sprintf("an end at byte %d", row.End()), Want: fmt.Sprintf("at most the capacity of %d bytes", s.capacity),
		}
	}
	return nil
}

// writeRecords writes the records at the committed end and syncs the arena
// once. Nothing names these bytes yet: after a failure they are residue.
func (s *Store) writeRecords(rows []rowlog.Row, sources []store.NewRecord) error {
	for i, row := range rows {
		if err := s.copyBody(row, sources[i]); err != nil {
			return err
		}
	}
	// Without this, a power cut could leave rows that name bytes which never
	// reached the disk.
	if err := s.arena.Sync(); err != nil {
		return s.refuse(ioError("sync", s.dir, s.path(root.Records), err))
	}
	return nil
}

// copyBody copies one record in pieces. The glyph line is looked at on the
// way, because a record under another hash could not be opened again.
func (s *Store) copyBody(row rowlog.Row, r store.NewRecord) error {
	if s.copyBuf == nil {
		s.copyBuf = make([]byte, copyBytes)
	}
	for done := uint64(0); done < row.Len; {
		piece := s.copyBuf[:min(uint64(len(s.copyBuf)), row.Len-done)]
		n, err := r.Body.ReadAt(piece, int64(done))
		if n < len(piece) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return &store.Error{Kind: store.Store, Doing: "read the body of", Root: s.dir, Hash: r.Hash, Err: err}
		}
		if done == 0 {
			if why := judgeGlyph(piece[:min(len(piece), record.GlyphLen)], r.Hash); why != "" {
				return &store.Error{Kind: store.Integration, Doing: "admit", Root: s.dir, Hash: r.Hash, Found: why, Want: "its own glyph line"}
			}
		}
		if _, err := s.arena.WriteAt(piece, int64(row.Offset+done)); err != nil {
			return ioError("write", s.dir, s.path(root.Records), err)
		}
		done += uint64(len(piece))
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
		return s.reconcile(ioError("append to", s.dir, s.path(root.RecordLog), err), false)
	}
	if err := s.log.Sync(); err != nil {
		return s.reconcile(ioError("sync", s.dir, s.path(root.RecordLog), err), true)
	}
	return nil
}

func (s *Store) logEnd() int64 { return int64(s.table.Position()) * rowlog.RowLen }

// reconcile establishes the durable prefix of the log after a failed write or
// sync of rows. The seed would adopt a suffix once a later sync succeeds; on
// Linux such a success says nothing about pages whose write-back failed, so
// the suffix, which nobody was told of, is cut off instead. After a failed
// sync the store is not used further even then.
func (s *Store) reconcile(cause error, syncFailed bool) error {
	if err := s.log.Truncate(s.logEnd()); err != nil {
		return s.refuse(errors.Join(cause, ioError("cut back", s.dir, s.path(root.RecordLog), err)))
	}
	if err := s.log.Sync(); err != nil {
		return s.refuse(errors.Join(cause, ioError("sync", s.dir, s.path(root.RecordLog), err)))
	}
	if syncFailed {
		return s.refuse(cause)
	}
	return cause
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
