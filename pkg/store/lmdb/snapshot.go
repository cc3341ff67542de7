//go:build cgo

package lmdb

import (
	"fmt"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// snapshot is the committed rows as one transaction sees them.
type snapshot struct {
	env *env
	txn *mdb.Txn
	pos store.Position
	end uint64 // of the last row, in bytes
}

// snapshot reads the last primary entry, which is the position.
func (e *env) snapshot(txn *mdb.Txn) (s snapshot, err error) {
	s = snapshot{env: e, txn: txn}
	cursor, err := txn.OpenCursor(e.rows)
	if err != nil {
		return s, err
	}
	defer cursor.Close()
	key, value, err := cursor.Get(nil, nil, mdb.Last)
	if mdb.IsNotFound(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	id, err := decodeID(key)
	if err != nil {
		return s, e.corrupt("the last key of "+rowsName, err.Error(), "")
	}
	row, err := e.decodeRow(id, value)
	if err != nil {
		return s, err
	}
	s.pos, s.end = store.Position(id), row.End()
	return s, nil
}

// row reads the row of an id. Rows are committed truth: false says that an id
// in (0, pos] has none.
func (s snapshot) row(id store.RecordID) (rowlog.Row, bool, error) {
	value, err := s.txn.Get(s.env.rows, encodeID(id))
	if mdb.IsNotFound(err) {
		return rowlog.Row{}, false, nil
	}
	if err != nil {
		return rowlog.Row{}, false, s.env.failed("read", err)
	}
	row, err := s.env.decodeRow(id, value)
	return row, err == nil, err
}

func (e *env) decodeRow(id store.RecordID, value []byte) (rowlog.Row, error) {
	if len(value) != rowlog.RowLen {
		return rowlog.Row{}, e.corrupt(rowName(id), fmt.Sprintf("%d bytes", len(value)), fmt.Sprintf("a row of %d", rowlog.RowLen))
	}
	row, err := rowlog.Decode(value)
	if err != nil {
		return rowlog.Row{}, e.corrupt(rowName(id), err.Error(), "")
	}
	return row, nil
}

func rowName(id store.RecordID) string { return fmt.Sprintf("row of record #%d", id) }

// lookup returns the id of an admitted record, zero when there is none.
func (s snapshot) lookup(h record.Hash) (store.RecordID, error) {
	value, err := s.txn.Get(s.env.hashes, h[:])
	if mdb.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, s.env.failed("read", err)
	}
	id, err := decodeID(value)
	if err == nil && store.Position(id) > s.pos {
		err = fmt.Errorf("id %d of %d", id, s.pos)
	}
	if err != nil {
		return 0, s.env.corrupt("hash "+h.String(), err.Error(), "an admitted id")
	}
	return id, nil
}
