package native

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// Examination is a root opened to be looked at in any state, interrupted ones
// included. Nothing is written, and no byte of the arena was checked.
type Examination struct {
	// Truth has the open files.
	*Truth
	// Table has the rows before the first bad one, if there is one.
	Table     *rowlog.Table
	TornBytes uint64
	// Damage, unless nil, is the first thing that would make an ordinary
	// opening fail: a bad row, or an arena of an impossible length.
	Damage error
	Files  compact.Files
	own    *Ownership
}

// Examine owns the root dir for reading and loads its row table. Damage in the
// rows is an error.
func Examine(ctx context.Context, dir string, opts Options) (*Examination, error) {
	x, err := ExamineDamaged(ctx, dir, opts)
	if err == nil && x.Damage != nil {
		return nil, errors.Join(x.Damage, x.Close())
	}
	return x, err
}

// ExamineDamaged is Examine for those who want to look at damage as well.
func ExamineDamaged(ctx context.Context, dir string, opts Options) (*Examination, error) {
	opts.ReadOnly = true
	own, err := Own(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	x := &Examination{own: own}
	if err := x.open(); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *Examination) open() error {
	var err error
	if x.Files, err = compact.Look(x.own.fs, x.own.dir); err != nil {
		return err
	}
	if x.Truth, err = x.own.OpenTruth(); err != nil {
		return err
	}
	x.Table, x.TornBytes, err = loadTable(x.Log, x.own.dir, x.Capacity)
	if errors.Is(err, store.CorruptStore) {
		x.Damage, err = err, nil
	}
	if x.CapacityProblem != nil {
		x.Damage = root.Corrupt(x.own.dir, x.own.path(root.Records), "length", x.CapacityProblem.Error(), "")
	}
	return err
}

// Interrupted reports whether a compaction must be resumed.
func (x *Examination) Interrupted() bool { return x.Files.State }

// Status says how far an interrupted compaction came.
func (x *Examination) Status() (compact.Status, error) {
	return compact.ReadStatus(x.own.fs, x.own.dir, x.Table)
}

// Prove hashes every retained record of an interrupted compaction at the
// places where a resume would look for it.
func (x *Examination) Prove(ctx context.Context, progress func(done, total uint64)) (move.Proof, error) {
	return compact.Prove(ctx, x.own.fs, x.own.dir, x.Arena, x.Table, progress)
}

// Record reads one record positionally. An id outside the root is an error.
func (x *Examination) Record(id store.RecordID) ([]byte, rowlog.Row, error) {
	if id == 0 || store.Position(id) > x.Table.Position() {
		return nil, rowlog.Row{}, &store.Error{Kind: store.Integration, Doing: "inspect", Root: x.own.dir, ID: id, Found: "no such record"}
	}
	row := x.Table.Row(id)
	b := make([]byte, row.Len)
	if _, err := x.Arena.ReadAt(b, int64(row.Offset)); err != nil {
		return nil, row, root.IOError("read", x.own.dir, x.own.path(root.Records), err)
	}
	return b, row, nil
}

// CheckIndexes compares every posting list with a scan of the records. A done
// context ends it with an Interrupted error.
func (x *Examination) CheckIndexes(ctx context.Context) (listdir.Checked, error) {
	return listdir.New(x.own.fs, x.own.path(root.Indexes)).Check(&examinedRows{ctx: ctx, x: x})
}

// examinedRows reads rows positionally, as package index asks for them. It
// looks at no index, so that it can judge them.
type examinedRows struct {
	ctx context.Context
	x   *Examination
	buf []byte
}

func (r *examinedRows) Position() store.Position { return r.x.Table.Position() }

func (r *examinedRows) Lookup(h record.Hash) (store.RecordID, error) {
	id, _ := r.x.Table.Lookup(h)
	return id, nil
}

// Load returns a record that is valid until the next call.
func (r *examinedRows) Load(id store.RecordID) (store.Record, error) {
	if err := r.ctx.Err(); err != nil && id%256 == 0 {
		return store.Record{}, &store.Error{Kind: store.Interrupted, Doing: "check posting lists", Root: r.x.own.dir, Err: err}
	}
	row := r.x.Table.Row(id)
	if row.Len > record.MaxRecordLen {
		return store.Record{}, root.Corrupt(r.x.own.dir, r.x.own.path(root.RecordLog), fmt.Sprintf("record #%d", id), fmt.Sprintf("%d bytes", row.Len), fmt.Sprintf("at most %d", record.MaxRecordLen))
	}
	r.buf = slices.Grow(r.buf[:0], int(row.Len))[:row.Len]
	if _, err := r.x.Arena.ReadAt(r.buf, int64(row.Offset)); err != nil {
		return store.Record{}, root.IOError("read", r.x.own.dir, r.x.own.path(root.Records), err)
	}
	return store.Record{ID: id, Hash: row.Hash, Bytes: r.buf}, nil
}

// Close gives the root back.
func (x *Examination) Close() error {
	var err error
	if x.Truth != nil {
		err = x.Truth.Close()
		x.Truth = nil
	}
	return errors.Join(err, x.own.Release())
}
