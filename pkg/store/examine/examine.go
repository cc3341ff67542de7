// Package examine looks at a filesystem-shaped root in any state, interrupted
// and damaged ones included, for the native and the Node profile. It writes
// nothing. It must not know how a root is owned.
package examine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Config is a root that is owned already, and what its profile asks of it.
type Config struct {
	FS  vfs.FS
	Dir string
	// RequireTruth refuses a root that lacks its record-log or its arena.
	RequireTruth func() error
	// CheckArena says why a length in bytes is none that an arena can have.
	CheckArena func(size uint64) error
	// Release gives the root back. It is told what came of the work on it, and
	// returns that and what went wrong besides.
	Release func(error) error
}

// Examination implements profile.Examination.
type Examination struct {
	config  Config
	truth   *logfile.Files
	logSize int64
	problem error // of the arena's length
	table   *rowlog.Table
	torn    uint64
	damage  error
	files   compact.Files
}

var _ profile.Examination = (*Examination)(nil)

// Open opens the root and loads its row table. Closing the examination gives
// the root back; so does a failed Open.
func Open(c Config) (*Examination, error) {
	x := &Examination{config: c}
	if err := x.open(); err != nil {
		return nil, x.release(err)
	}
	return x, nil
}

func (x *Examination) open() (err error) {
	if x.files, err = compact.Look(x.config.FS, x.config.Dir); err != nil {
		return err
	}
	if err := x.config.RequireTruth(); err != nil {
		return err
	}
	if x.truth, err = logfile.Open(x.config.FS, x.config.Dir, vfs.ReadOnly); err != nil {
		return err
	}
	info, err := x.truth.Log.Stat()
	if err != nil {
		return root.IOError("open", x.config.Dir, x.path(root.RecordLog), err)
	}
	x.logSize = info.Size
	x.table, x.torn, err = logfile.Load(x.truth.Log, x.config.Dir, x.truth.ArenaSize)
	if errors.Is(err, store.CorruptStore) {
		x.damage, err = err, nil
	}
	if x.problem = x.config.CheckArena(x.truth.ArenaSize); x.problem != nil {
		x.damage = root.Corrupt(x.config.Dir, x.path(root.Records), "length", x.problem.Error(), "")
	}
	return err
}

// Table implements profile.Examination.
func (x *Examination) Table() *rowlog.Table { return x.table }

// TornBytes implements profile.Examination.
func (x *Examination) TornBytes() uint64 { return x.torn }

// Damage implements profile.Examination.
func (x *Examination) Damage() error { return x.damage }

// ArenaProblem implements profile.Examination.
func (x *Examination) ArenaProblem() error { return x.problem }

// Files implements profile.Examination.
func (x *Examination) Files() compact.Files { return x.files }

// Input implements profile.Examination.
func (x *Examination) Input() verify.Input {
	return verify.Input{Log: x.truth.Log, LogSize: x.logSize, Arena: x.truth.Arena, Capacity: x.truth.ArenaSize}
}

// Status implements profile.Examination.
func (x *Examination) Status() (compact.Status, error) {
	return compact.ReadStatus(x.config.FS, x.config.Dir, x.table)
}

// Prove implements profile.Examination.
func (x *Examination) Prove(ctx context.Context, progress func(done, total uint64)) (move.Proof, error) {
	return compact.Prove(ctx, x.config.FS, x.config.Dir, x.truth.Arena, x.table, progress)
}

// Record implements profile.Examination.
func (x *Examination) Record(id store.RecordID) ([]byte, rowlog.Row, error) {
	if id == 0 || store.Position(id) > x.table.Position() {
		return nil, rowlog.Row{}, &store.Error{Kind: store.Integration, Doing: "inspect", Root: x.config.Dir, ID: id, Found: "no such record"}
	}
	row := x.table.Row(id)
	b, err := x.read(id, nil)
	return b, row, err
}

// read reads one record into buf, which it may replace.
func (x *Examination) read(id store.RecordID, buf []byte) ([]byte, error) {
	row := x.table.Row(id)
	if row.Len > record.MaxRecordLen {
		return nil, root.Corrupt(x.config.Dir, x.path(root.RecordLog), fmt.Sprintf("record #%d", id), fmt.Sprintf("%d bytes", row.Len), fmt.Sprintf("at most %d", record.MaxRecordLen))
	}
	buf = slices.Grow(buf[:0], int(row.Len))[:row.Len]
	if _, err := x.truth.Arena.ReadAt(buf, int64(row.Offset)); err != nil {
		return nil, root.IOError("read", x.config.Dir, x.path(root.Records), err)
	}
	return buf, nil
}

// CheckIndexes implements profile.Examination. A done context ends it with an
// Interrupted error.
func (x *Examination) CheckIndexes(ctx context.Context) (listdir.Checked, error) {
	return listdir.New(x.config.FS, x.path(root.Indexes)).Check(&rows{ctx: ctx, x: x})
}

// rows reads rows positionally, as package index asks for them. It looks at no
// index, so that it can judge them.
type rows struct {
	ctx context.Context
	x   *Examination
	buf []byte
}

func (r *rows) Position() store.Position { return r.x.table.Position() }

func (r *rows) Lookup(h record.Hash) (store.RecordID, error) {
	id, _ := r.x.table.Lookup(h)
	return id, nil
}

// Load returns a record that is valid until the next call.
func (r *rows) Load(id store.RecordID) (store.Record, error) {
	if err := r.ctx.Err(); err != nil && id%256 == 0 {
		return store.Record{}, &store.Error{Kind: store.Interrupted, Doing: "check posting lists", Root: r.x.config.Dir, Err: err}
	}
	b, err := r.x.read(id, r.buf)
	if err != nil {
		return store.Record{}, err
	}
	r.buf = b
	return store.Record{ID: id, Hash: r.x.table.Row(id).Hash, Bytes: b}, nil
}

// Close implements profile.Examination.
func (x *Examination) Close() error { return x.release(nil) }

func (x *Examination) release(err error) error {
	if x.truth != nil {
		err = errors.Join(err, x.truth.Close())
		x.truth = nil
	}
	return x.config.Release(err)
}

func (x *Examination) path(name string) string { return filepath.Join(x.config.Dir, name) }
