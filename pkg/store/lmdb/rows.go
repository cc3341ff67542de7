//go:build cgo

package lmdb

import (
	"errors"
	"io"
	"iter"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// errEnough ends a scan whose reader wants no more.
var errEnough = errors.New("enough")

// scanRows gives visit what the database has for every id from the first to
// the last, in order, by one cursor; the bytes are valid during the call, and
// nil for an id that is missing.
func (e *env) scanRows(txn *mdb.Txn, first, last store.RecordID, visit func(id store.RecordID, encoded []byte) error) error {
	cursor, err := txn.OpenCursor(e.rows)
	if err != nil {
		return err
	}
	defer cursor.Close()
	at, value, err := e.move(cursor, encodeID(first), mdb.SetRange)
	for id := first; id <= last && err == nil; id++ {
		var encoded []byte
		if at == id {
			encoded = value
		}
		if err = visit(id, encoded); err == nil && at == id {
			at, value, err = e.move(cursor, nil, mdb.Next)
		}
	}
	return err
}

// move moves a cursor of the rows; id zero is the end.
func (e *env) move(cursor *mdb.Cursor, key []byte, op uint) (id store.RecordID, value []byte, err error) {
	key, value, err = cursor.Get(key, nil, op)
	if mdb.IsNotFound(err) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	if id, err = decodeID(key); err != nil {
		return 0, nil, e.corrupt("a key of "+rowsName, err.Error(), "")
	}
	return id, value, nil
}

// virtualLog is the rows through a position as the bytes that a record-log of
// them has, read in a transaction of its own each time. A row that is missing,
// or has another length, reads as zeros, which no row is.
type virtualLog struct {
	env *env
	pos store.Position
}

func (l virtualLog) size() int64 { return int64(l.pos) * rowlog.RowLen }

// ReadAt implements io.ReaderAt.
func (l virtualLog) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	if off >= l.size() || len(p) == 0 {
		return 0, io.EOF
	}
	skip := int(off % rowlog.RowLen)
	err = l.env.view(func(txn *mdb.Txn) error {
		n = 0
		err := l.env.scanRows(txn, rowlog.ID(uint64(off)/rowlog.RowLen), store.RecordID(l.pos), func(_ store.RecordID, encoded []byte) error {
			if n == len(p) {
				return errEnough
			}
			var row [rowlog.RowLen]byte
			if len(encoded) == rowlog.RowLen {
				row = [rowlog.RowLen]byte(encoded)
			}
			n += copy(p[n:], row[skip:])
			skip = 0
			return nil
		})
		if err == errEnough {
			return nil
		}
		return err
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// table reads the rows through a position and checks each by itself and against
// those before it. With a CorruptStore error it has the rows before the bad one.
func (e *env) table(pos store.Position, capacity uint64) (*rowlog.Table, error) {
	log := virtualLog{e, pos}
	table, _, err := rowlog.Read(log, log.size(), capacity)
	var bad *rowlog.RowError
	if errors.As(err, &bad) {
		err = e.corrupt(rowName(rowlog.ID(bad.Index)), bad.Err.Error(), "")
	}
	return table, err
}

// committedRows is the rows of a root at one position. They are immutable, so
// that each reading of them opens a transaction of its own, and between
// readings not even the environment has to be open.
type committedRows struct {
	// open gives the environment for one reading, and what ends that.
	open func() (*env, func() error, error)
	pos  store.Position
	end  uint64
}

var _ rowlog.Rows = committedRows{}

// Position implements rowlog.Rows.
func (r committedRows) Position() store.Position { return r.pos }

// End implements rowlog.Rows.
func (r committedRows) End() uint64 { return r.end }

// All implements rowlog.Rows.
func (r committedRows) All() iter.Seq2[rowlog.Row, error] {
	return func(yield func(rowlog.Row, error) bool) {
		e, end, err := r.open()
		if err == nil {
			err = errors.Join(e.view(func(txn *mdb.Txn) error { return r.each(e, txn, yield) }), end())
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(rowlog.Row{}, err)
		}
	}
}

func (r committedRows) each(e *env, txn *mdb.Txn, yield func(rowlog.Row, error) bool) error {
	return e.scanRows(txn, 1, store.RecordID(r.pos), func(id store.RecordID, encoded []byte) error {
		if encoded == nil {
			return e.corrupt(rowName(id), "no row", "one for every id")
		}
		row, err := e.decodeRow(id, encoded)
		if err != nil {
			return err
		}
		if !yield(row, nil) {
			return errEnough
		}
		return nil
	})
}
