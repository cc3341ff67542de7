package node

import (
	"context"
	"errors"
	"math"

	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Open opens an existing root and recovers it. It makes nothing but the
// sentinel: a directory without a complete root is NotRoot. A root that holds
// files of an interrupted compaction is NeedsResume.
func Open(ctx context.Context, dir string, opts profile.Options) (*Store, error) {
	o, err := own(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	s, err := o.open(ctx, opts, false)
	if err != nil {
		return nil, o.finish(err)
	}
	s.releaseOnClose = true
	return s, nil
}

// open opens the store of a root that is owned already. Closing the store
// leaves the ownership to its holder. A postponed opening is for a run that may
// still be refused: it leaves the torn row, the lost rows, stale index
// directories and the leftovers of a compaction as they are.
func (o *ownership) open(ctx context.Context, opts profile.Options, postponed bool) (*Store, error) {
	if !postponed {
		if err := bootstrap.RefuseCompactionFiles(o.fs, o.dir); err != nil {
			return nil, err
		}
	}
	if err := o.requireTruth(); err != nil {
		return nil, err
	}
	mode := vfs.ReadOnly
	if !o.readOnly {
		mode = vfs.ReadWrite
		if err := o.flush(); err != nil {
			return nil, err
		}
	}
	files, err := logfile.Open(o.fs, o.dir, mode)
	if err != nil {
		return nil, err
	}
	s := &Store{own: o, files: files}
	if err := s.recover(ctx, postponed); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	s.admitter = logfile.Admitter{
		Files: files, Table: s.table,
		// The arena grows as far as a file can.
		Writer: arena.Writer{Dir: o.dir, File: files.Arena, Capacity: math.MaxInt64},
	}
	s.lists = index.NewCache(s, index.Options{
		MemoryBytes: opts.IndexMemory,
		Durable:     listdir.New(o.fs, o.path(root.Indexes)),
		Publish:     !o.readOnly && !opts.NoPublish,
	})
	s.reader = index.NewReader(s, s.lists)
	return s, nil
}

// recover loads and checks the log and the glyph line of every record; only
// then a writer changes what it has to. Bytes of the arena behind the last row
// are ignored and stay, until a record or a compaction takes their place.
func (s *Store) recover(ctx context.Context, postponed bool) error {
	found, err := s.files.Recover(ctx, s.own.readOnly)
	if err != nil {
		return err
	}
	s.table, s.repair = found.Table, found.Repair
	s.pages = pages{dir: s.own.dir, arena: s.files.Arena, table: s.table}
	switch {
	case s.own.readOnly:
		s.tornBytes = found.TornBytes
		return nil
	case postponed:
		return nil
	}
	if err := s.repair.Apply(s.files.Log, s.own.dir); err != nil {
		return err
	}
	return logfile.Clean(s.own.fs, s.own.dir)
}
