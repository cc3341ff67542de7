package native

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Open opens an existing root and recovers it. It makes nothing: a directory
// without a complete root is NotRoot. A root that holds files of an
// interrupted compaction is NeedsResume.
func Open(ctx context.Context, dir string, opts Options) (*Store, error) {
	own, err := Own(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	s, err := openOwned(ctx, own, opts)
	if err != nil {
		return nil, errors.Join(err, own.Release())
	}
	s.releaseOnClose = true
	return s, nil
}

// openOwned opens the store of a root that is owned already. Closing the store
// leaves the ownership to its holder.
func openOwned(ctx context.Context, own *Ownership, opts Options) (*Store, error) {
	return openStore(ctx, opts, &Store{own: own, fs: own.fs, dir: own.dir, readOnly: own.readOnly})
}

// openPostponed is openOwned for a run that may still be refused: it leaves the
// torn row, the lost rows and the leavings of earlier openings and of a
// compaction without a state as they are.
func openPostponed(ctx context.Context, own *Ownership, opts Options) (*Store, error) {
	return openStore(ctx, opts, &Store{own: own, fs: own.fs, dir: own.dir, readOnly: own.readOnly, postponed: true})
}

func openStore(ctx context.Context, opts Options, s *Store) (*Store, error) {
	own := s.own
	if !s.postponed {
		if err := bootstrap.RefuseCompactionFiles(own.fs, own.dir); err != nil {
			return nil, err
		}
	}
	if err := own.requireArena(); err != nil {
		return nil, err
	}
	steps := []func() error{s.openFiles, func() error { return s.recover(ctx) }, s.mapArena}
	if !s.readOnly {
		steps = append([]func() error{own.flush}, steps...)
	}
	if !s.readOnly && !s.postponed {
		steps = append(steps, own.clean)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.Join(err, s.closeFiles())
		}
	}
	s.admitter = logfile.Admitter{
		Files: s.files, Table: s.table,
		Writer: arena.Writer{Dir: s.dir, File: s.files.Arena, Capacity: s.files.ArenaSize},
	}
	s.openIndex(opts)
	return s, nil
}

// requireTruth tells a root whose making was interrupted from one that lost
// its log or its arena.
func (o *Ownership) requireTruth() error {
	logPath, arenaPath := filepath.Join(o.dir, root.RecordLog), filepath.Join(o.dir, root.Records)
	log, err := bootstrap.StatIfPresent(o.fs, o.dir, root.RecordLog)
	if err != nil {
		return err
	}
	records, err := bootstrap.StatIfPresent(o.fs, o.dir, root.Records)
	if err != nil {
		return err
	}
	logEmpty, arenaEmpty := log == nil || log.Size == 0, records == nil || records.Size == 0
	switch {
	case logEmpty && arenaEmpty && (records == nil || log != nil):
		return bootstrap.Unfinished(o.dir)
	case log == nil:
		return root.Corrupt(o.dir, logPath, "", "no record-log beside an arena", "both")
	case arenaEmpty:
		return root.Corrupt(o.dir, arenaPath, "", "no arena beside a record-log with rows", "both")
	}
	return nil
}

func (s *Store) openFiles() (err error) {
	mode := vfs.ReadWrite
	if s.readOnly {
		mode = vfs.ReadOnly
	}
	s.files, err = logfile.Open(s.fs, s.dir, mode)
	return err
}

// mapArena maps the whole arena; the mapping owns a shared arena-lock. A
// reader that finds no arena-lock, and may not make one, has the mapping own
// the lifetime lock instead, which compaction needs as well.
func (s *Store) mapArena() error {
	lock, err := arena.Lock(s.fs, s.dir, vfs.Shared, s.readOnly)
	if err != nil {
		return err
	}
	if lock == nil {
		lock, s.own.held = s.own.held, nil
	}
	m, err := s.files.Arena.Map(int64(s.files.ArenaSize), lock)
	if err != nil {
		return errors.Join(root.IOError("map", s.dir, s.path(root.Records), err), lock.Close())
	}
	s.mapping = m
	return nil
}

// clean removes what earlier openings left: staged records that were never
// admitted, and index generations of other projections (seed 002).
func (o *Ownership) clean() error { return logfile.Clean(o.fs, o.dir, root.Staging) }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }
