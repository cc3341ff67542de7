package native

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// Create opens the root dir for writing, making it first when it is absent,
// and finishing it when an earlier making was interrupted before the first
// record. A directory that holds anything else is refused untouched.
func Create(ctx context.Context, dir string, opts Options) (*Store, error) {
	if opts.ReadOnly {
		return nil, &store.Error{Kind: store.Integration, Doing: "create", Root: dir, Found: "read-only options"}
	}
	capacity, err := arena.CreationCapacity(opts, dir)
	if err != nil {
		return nil, err
	}
	marker, err := bootstrap.Create(ctx, dir, root.Native, opts)
	if err != nil {
		return nil, err
	}
	own, err := ownUnder(ctx, marker, dir, opts)
	if err != nil {
		return nil, err
	}
	if err := initialize(own, capacity); err != nil {
		return nil, errors.Join(err, own.Release())
	}
	s, err := openOwned(ctx, own, opts)
	if err != nil {
		return nil, errors.Join(err, own.Release())
	}
	s.releaseOnClose = true
	return s, nil
}

// initialize makes lock, arena-lock, record-log and records, in the order that
// lets an interrupted making be told from a damaged root: the log is durable
// before there is an arena, and an arena is sized only while the log is empty.
func initialize(own *Ownership, capacity uint64) error {
	if err := bootstrap.RefuseCompactionFiles(own.fs, own.dir); err != nil {
		return err
	}
	logPath, arenaPath := filepath.Join(own.dir, root.RecordLog), filepath.Join(own.dir, root.Records)
	log, err := bootstrap.StatIfPresent(own.fs, own.dir, root.RecordLog)
	if err != nil {
		return err
	}
	records, err := bootstrap.StatIfPresent(own.fs, own.dir, root.Records)
	if err != nil {
		return err
	}
	switch {
	case records != nil && log == nil:
		return root.Corrupt(own.dir, logPath, "", "no record-log beside an arena", "both")
	case (records == nil || records.Size == 0) && log != nil && log.Size > 0:
		return root.Corrupt(own.dir, arenaPath, "", fmt.Sprintf("no bytes for a record-log of %d rows", log.Size/rowlog.RowLen), "the arena")
	}
	if err := errors.Join(bootstrap.Touch(own.fs, own.dir, root.ArenaLock), bootstrap.Touch(own.fs, own.dir, root.RecordLog)); err != nil {
		return err
	}
	// Without this, a power cut could leave an arena without a log.
	if err := own.fs.SyncDir(own.dir); err != nil {
		return root.IOError("sync directory", own.dir, own.dir, err)
	}
	if records == nil || records.Size == 0 {
		return arena.Size(own.fs, own.dir, capacity)
	}
	return nil
}

// flush makes every file of the root durable, whoever wrote it, and then their
// entries: an opener that was interrupted may have left any of it unsynced.
// Every writer's opening does so before it trusts what it finds (seed 002).
func (o *Ownership) flush() error {
	for _, name := range []string{root.Lock, root.ArenaLock, root.RecordLog, root.Records} {
		if err := bootstrap.Touch(o.fs, o.dir, name); err != nil {
			return err
		}
	}
	if err := o.fs.SyncDir(o.dir); err != nil {
		return root.IOError("sync directory", o.dir, o.dir, err)
	}
	return nil
}
