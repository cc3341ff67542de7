//go:build cgo

package lmdb

import (
	"context"
	"errors"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// create opens the root dir for writing, making it first when it is absent, and
// finishing it when an earlier making was interrupted before the first record.
// A directory that holds anything else is refused untouched.
func (p Profile) create(ctx context.Context, dir string, opts profile.Options) (*Store, error) {
	if opts.ReadOnly {
		return nil, &store.Error{Kind: store.Integration, Doing: "create", Root: dir, Found: "read-only options"}
	}
	capacity, err := arena.CreationCapacity(opts, dir)
	if err != nil {
		return nil, err
	}
	marker, err := bootstrap.Create(ctx, dir, root.LMDB, opts)
	if err != nil {
		return nil, err
	}
	if err := p.initialize(opts.FS, dir, capacity); err != nil {
		return nil, errors.Join(err, marker.Close())
	}
	return p.openAndUnlock(marker, dir, opts)
}

// initialize makes arena-lock, the environment and records, in the order that
// lets an interrupted making be told from a damaged root: the environment is
// durable before there is an arena, and an arena is sized only while there is
// no row.
func (p Profile) initialize(fsys vfs.FS, dir string, capacity uint64) error {
	if err := bootstrap.RefuseCompactionFiles(fsys, dir); err != nil {
		return err
	}
	there, err := p.look(fsys, dir)
	switch {
	case err != nil:
		return err
	case there.arena && there.env:
		return nil
	case there.arena:
		return root.Corrupt(dir, "", "", "no "+root.LMDBData+" beside an arena", "both")
	}
	if err := bootstrap.Touch(fsys, dir, root.ArenaLock); err != nil {
		return err
	}
	e, err := openEnv(fsys, dir, envCreate, p.hooks)
	if err != nil {
		return err
	}
	pos, err := e.position()
	if err = errors.Join(err, e.sync(), e.close()); err != nil {
		return err
	}
	if pos > 0 {
		return noArena(dir, pos)
	}
	// Without this, a power cut could leave an arena without an environment.
	if err := fsys.SyncDir(dir); err != nil {
		return root.IOError("sync directory", dir, dir, err)
	}
	return arena.Size(fsys, dir, capacity)
}

// position returns the number of rows.
func (e *env) position() (pos store.Position, err error) {
	err = e.view(func(txn *mdb.Txn) error {
		s, err := e.snapshot(txn)
		pos = s.pos
		return err
	})
	return pos, err
}

// sync makes the environment durable, whoever wrote it.
func (e *env) sync() error { return e.failed("sync", e.mdb.Sync(true)) }
