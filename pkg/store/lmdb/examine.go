//go:build cgo

package lmdb

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// examination is a root opened to be looked at in any state, as far as its
// position when it was opened: other processes may admit meanwhile.
type examination struct {
	fs       vfs.FS
	dir      string
	held     []vfs.File // locks that keep compaction out
	env      *env
	arena    vfs.File
	capacity uint64
	problem  error // of the capacity
	rows     committedRows
	table    *rowlog.Table
	damage   error
	files    compact.Files
}

// Examine implements profile.Profile.
func (p Profile) Examine(ctx context.Context, dir string, opts profile.Options) (profile.Examination, error) {
	opts.ReadOnly = true
	marker, err := bootstrap.Open(ctx, dir, root.LMDB, opts)
	if err != nil {
		return nil, err
	}
	x := &examination{fs: opts.FS, dir: dir, held: []vfs.File{marker}}
	if err := x.open(p); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *examination) open(p Profile) (err error) {
	if x.files, err = compact.Look(x.fs, x.dir); err != nil {
		return err
	}
	if err := p.requireTruth(x.fs, x.dir); err != nil {
		return err
	}
	if x.env, err = openEnv(x.fs, x.dir, envRead, p.hooks); err != nil {
		return err
	}
	// A comparison of the postings looks at their pages.
	if err := x.env.checkPages(postingsName); err != nil {
		return err
	}
	if err := x.openArena(); err != nil {
		return err
	}
	if err := x.holdLess(); err != nil {
		return err
	}
	x.rows.open = func() (*env, func() error, error) { return x.env, func() error { return nil }, nil }
	return x.load()
}

func (x *examination) openArena() (err error) {
	path := filepath.Join(x.dir, root.Records)
	if x.arena, err = x.fs.OpenFile(path, vfs.ReadOnly); err != nil {
		return root.IOError("open", x.dir, path, err)
	}
	info, err := x.arena.Stat()
	if err != nil {
		return root.IOError("open", x.dir, path, err)
	}
	x.capacity = uint64(info.Size)
	x.problem = arena.CheckCapacity(x.capacity)
	return nil
}

// holdLess has a shared arena-lock keep compaction out, so that other programs
// can open the root meanwhile. Nobody opens one that is interrupted, and of one
// without an arena-lock only the bootstrap lock keeps a compaction out.
func (x *examination) holdLess() error {
	if x.files.Any() {
		return nil
	}
	lock, err := arena.Lock(x.fs, x.dir, vfs.Shared, true)
	if lock == nil || err != nil {
		return err
	}
	marker := x.held[0]
	x.held[0] = lock
	if err := errors.Join(marker.Unlock(), marker.Close()); err != nil {
		return root.IOError("unlock", x.dir, filepath.Join(x.dir, root.Marker), err)
	}
	return nil
}

// load reads the rows. The first that is none is damage.
func (x *examination) load() error {
	err := x.env.view(func(txn *mdb.Txn) error {
		s, err := x.env.snapshot(txn)
		x.rows.pos, x.rows.end = s.pos, s.end
		return err
	})
	if errors.Is(err, store.CorruptStore) {
		x.table, x.damage = &rowlog.Table{}, err
		return nil
	}
	if err != nil {
		return err
	}
	x.table, err = x.env.table(x.rows.pos, x.capacity)
	if errors.Is(err, store.CorruptStore) {
		x.damage, err = err, nil
	}
	if x.problem != nil {
		x.damage = root.Corrupt(x.dir, filepath.Join(x.dir, root.Records), "length", x.problem.Error(), "")
	}
	return err
}

// Table implements profile.Examination.
func (x *examination) Table() *rowlog.Table { return x.table }

// TornBytes implements profile.Examination. A transaction is never torn.
func (x *examination) TornBytes() uint64 { return 0 }

// Damage implements profile.Examination.
func (x *examination) Damage() error { return x.damage }

// ArenaProblem implements profile.Examination.
func (x *examination) ArenaProblem() error { return x.problem }

// Files implements profile.Examination.
func (x *examination) Files() compact.Files { return x.files }

// Input implements profile.Examination. The rows of the database read as the
// record-log that they would be.
func (x *examination) Input() verify.Input {
	log := virtualLog{x.env, x.rows.pos}
	return verify.Input{Log: log, LogSize: log.size(), Arena: x.arena, Capacity: x.capacity}
}

// oldRows are the rows that an interrupted compaction began with, and nil once
// they are being reloaded.
func (x *examination) oldRows() (rowlog.Rows, error) {
	state, err := compact.ReadState(x.fs, x.dir)
	if err != nil || state.Phase == format.Reload {
		return nil, err
	}
	return x.rows, nil
}

// Status implements profile.Examination.
func (x *examination) Status() (compact.Status, error) {
	rows, err := x.oldRows()
	if err != nil {
		return compact.Status{}, err
	}
	return compact.ReadStatus(x.fs, x.dir, rows)
}

// Prove implements profile.Examination.
func (x *examination) Prove(ctx context.Context, progress func(done, total uint64)) (move.Proof, error) {
	rows, err := x.oldRows()
	if err != nil {
		return move.Proof{}, err
	}
	return compact.Prove(ctx, x.fs, x.dir, x.arena, rows, progress)
}

// Record implements profile.Examination.
func (x *examination) Record(id store.RecordID) ([]byte, rowlog.Row, error) {
	if id == 0 || store.Position(id) > x.table.Position() {
		return nil, rowlog.Row{}, &store.Error{Kind: store.Integration, Doing: "inspect", Root: x.dir, ID: id, Found: "no such record"}
	}
	row := x.table.Row(id)
	if row.Len > record.MaxRecordLen {
		return nil, row, x.env.corrupt(rowName(id), fmt.Sprintf("%d bytes", row.Len), fmt.Sprintf("at most %d", record.MaxRecordLen))
	}
	b := make([]byte, row.Len)
	if _, err := x.arena.ReadAt(b, int64(row.Offset)); err != nil {
		return nil, row, root.IOError("read", x.dir, filepath.Join(x.dir, root.Records), err)
	}
	return b, row, nil
}

// Close implements profile.Examination.
func (x *examination) Close() error {
	var err error
	if x.env != nil {
		err = x.env.close()
		x.env = nil
	}
	if x.arena != nil {
		err = errors.Join(err, x.arena.Close())
		x.arena = nil
	}
	for _, f := range x.held {
		err = errors.Join(err, f.Unlock(), f.Close())
	}
	x.held = nil
	return err
}
