package logfile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// Admitter admits records to an opened root, whose only writer it is.
type Admitter struct {
	*Files
	// Table has the committed rows.
	Table  *rowlog.Table
	Writer arena.Writer

	refusal error
}

// Refusal, unless nil, says why the store may not be used any more.
func (a *Admitter) Refusal() error {
	if a.refusal == nil {
		return nil
	}
	return &store.Error{
		Kind: store.Store, Doing: "execute", Root: a.Dir,
		Found: "this store must be opened again after a failure", Err: a.refusal,
	}
}

// Refuse makes every later operation fail with the cause.
func (a *Admitter) Refuse(cause error) error {
	a.refusal = cause
	return cause
}

// Admit is one StoreRecords transaction (seed 002, commit rules 1-7).
func (a *Admitter) Admit(op store.StoreRecords) (store.Result, error) {
	lookup := func(h record.Hash) (store.RecordID, error) {
		id, _ := a.Table.Lookup(h)
		return id, nil
	}
	batch, err := a.Writer.Classify(a.Table.Position(), a.Table.End(), lookup, op.Records) // 1 and 2
	if err != nil {
		return nil, err
	}
	if len(batch.Rows) > 0 {
		if err := a.Writer.CopyAll(batch); err != nil { // 3
			return nil, err
		}
		if err := a.Writer.Sync(); err != nil { // 4
			return nil, a.Refuse(err)
		}
		if err := a.writeRows(batch.Rows); err != nil { // 5 and 6
			return nil, err
		}
		a.adopt(batch.Rows) // 7
	}
	return store.StoredResult{Outcomes: batch.Outcomes, Position: a.Table.Position()}, nil
}

// writeRows appends the rows and syncs the log once. The synced row is the
// admission point.
func (a *Admitter) writeRows(rows []rowlog.Row) error {
	encoded := make([]byte, 0, len(rows)*rowlog.RowLen)
	for _, row := range rows {
		encoded = row.AppendTo(encoded)
	}
	if _, err := a.Log.WriteAt(encoded, a.logEnd()); err != nil {
		return a.reconcile(root.IOError("append to", a.Dir, a.path(root.RecordLog), err), rows, encoded)
	}
	if err := a.Log.Sync(); err != nil {
		return a.cutBack(root.IOError("sync", a.Dir, a.path(root.RecordLog), err))
	}
	return nil
}

func (a *Admitter) logEnd() int64 { return int64(a.Table.Position()) * rowlog.RowLen }

// reconcile establishes the durable prefix of the log after a failed write
// of rows (seed 002): the partial last row is truncated, the log is synced,
// and only then the complete rows that the write left, which must be the first
// of those it was given, are adopted. The write has failed all the same.
func (a *Admitter) reconcile(cause error, rows []rowlog.Row, encoded []byte) error {
	path := a.path(root.RecordLog)
	info, err := a.Log.Stat()
	if err != nil {
		return a.cutBack(errors.Join(cause, root.IOError("reconcile", a.Dir, path, err)))
	}
	if info.Size < a.logEnd() || info.Size > a.logEnd()+int64(len(encoded)) {
		return a.Refuse(errors.Join(cause, root.Corrupt(a.Dir, path, "length", fmt.Sprintf("%d bytes", info.Size),
			fmt.Sprintf("from %d to %d", a.logEnd(), a.logEnd()+int64(len(encoded))))))
	}
	added := int(info.Size-a.logEnd()) / rowlog.RowLen
	end := a.logEnd() + int64(added)*rowlog.RowLen
	if end != info.Size {
		if err := a.Log.Truncate(end); err != nil {
			return a.Refuse(errors.Join(cause, root.IOError("cut back", a.Dir, path, err)))
		}
	}
	if err := a.Log.Sync(); err != nil {
		return a.cutBack(errors.Join(cause, root.IOError("sync", a.Dir, path, err)))
	}
	suffix := make([]byte, end-a.logEnd())
	if n, err := a.Log.ReadAt(suffix, a.logEnd()); n < len(suffix) {
		return a.Refuse(errors.Join(cause, root.IOError("reconcile", a.Dir, path, err)))
	}
	if !bytes.Equal(suffix, encoded[:len(suffix)]) {
		return a.Refuse(errors.Join(cause, root.Corrupt(a.Dir, path, fmt.Sprintf("offset %d", a.logEnd()), "other rows", "the rows that were being written")))
	}
	a.adopt(rows[:added])
	return cause
}

// cutBack is for a failed sync of the log. A later sync that succeeds would
// prove nothing, because the system may have forgotten the pages whose
// write-back failed and go on showing them. So no row of the batch is adopted,
// the rows are cut off as well as that can be done, and the store refuses
// further use: what the disk has is for the next opening to find out, which
// reads the log past the cache.
func (a *Admitter) cutBack(cause error) error {
	err := a.Log.Truncate(a.logEnd())
	if err == nil {
		err = a.Log.Sync()
	}
	if err != nil {
		cause = errors.Join(cause, root.IOError("cut back", a.Dir, a.path(root.RecordLog), err))
	}
	return a.Refuse(cause)
}

// adopt takes committed rows into resident state.
func (a *Admitter) adopt(rows []rowlog.Row) {
	for _, row := range rows {
		if err := a.Table.Append(row); err != nil {
			panic("logfile: a classified row does not follow the table: " + err.Error())
		}
	}
}
