//go:build cgo

package lmdb

import (
	"context"
	"errors"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Open opens an existing root, under the bootstrap lock, beside whatever other
// processes have it open. It makes nothing: a directory without a complete root
// is NotRoot. A root that holds files of an interrupted compaction is
// NeedsResume.
func (p Profile) open(ctx context.Context, dir string, opts profile.Options) (*Store, error) {
	marker, err := bootstrap.Open(ctx, dir, root.LMDB, opts)
	if err != nil {
		return nil, err
	}
	return p.openAndUnlock(marker, dir, opts)
}

// openAndUnlock opens the store and then gives the bootstrap lock up, unless
// the mapping of a reader keeps it.
func (p Profile) openAndUnlock(marker vfs.File, dir string, opts profile.Options) (*Store, error) {
	s, keeps, err := p.openUnder(marker, dir, opts, false)
	if err != nil {
		return nil, errors.Join(err, marker.Close())
	}
	if keeps {
		return s, nil
	}
	if err := errors.Join(marker.Unlock(), marker.Close()); err != nil {
		return nil, errors.Join(root.IOError("unlock", dir, s.path(root.Marker), err), s.Close())
	}
	return s, nil
}

// openUnder opens the store of a root whose bootstrap lock is held. keeps says
// that the mapping owns the marker now: a reader that finds no arena-lock, and
// may not make one, keeps compaction out with the bootstrap lock. A compaction
// that may still be refused tolerates leftovers of one without a state.
func (p Profile) openUnder(marker vfs.File, dir string, opts profile.Options, leftovers bool) (s *Store, keeps bool, err error) {
	if !leftovers {
		if err := bootstrap.RefuseCompactionFiles(opts.FS, dir); err != nil {
			return nil, false, err
		}
	}
	if err := p.requireTruth(opts.FS, dir); err != nil {
		return nil, false, err
	}
	if err := arena.RequireCapacity(opts.FS, dir); err != nil {
		return nil, false, err
	}
	s = &Store{fs: opts.FS, dir: dir, readOnly: opts.ReadOnly}
	if keeps, err = s.openFiles(marker, p.hooks); err != nil {
		return nil, false, errors.Join(err, s.closeFiles())
	}
	s.writer = arena.Writer{Dir: dir, File: s.arena, Capacity: s.capacity}
	s.reader = index.NewReader(view{s}, view{s})
	return s, keeps, nil
}

func (s *Store) openFiles(marker vfs.File, h hooks) (keeps bool, err error) {
	mode, envMode := vfs.ReadWrite, envWrite
	if s.readOnly {
		mode, envMode = vfs.ReadOnly, envRead
	}
	if !s.readOnly {
		if err := flush(s.fs, s.dir); err != nil {
			return false, err
		}
	}
	if s.env, err = openEnv(s.fs, s.dir, envMode, h); err != nil {
		return false, err
	}
	if s.readOnly {
		// A reader is about to read everything. Damage must not end it in the
		// middle, or give it other answers.
		if err := s.env.checkPages(); err != nil {
			return false, err
		}
	} else {
		// An opener that was interrupted may have left any of it unsynced.
		if err := s.env.sync(); err != nil {
			return false, err
		}
	}
	if s.arena, err = s.fs.OpenFile(s.path(root.Records), mode); err != nil {
		return false, root.IOError("open", s.dir, s.path(root.Records), err)
	}
	info, err := s.arena.Stat()
	if err != nil {
		return false, root.IOError("open", s.dir, s.path(root.Records), err)
	}
	s.capacity = uint64(info.Size)
	return s.mapArena(marker)
}

// mapArena maps the whole arena; the mapping owns a shared arena-lock.
func (s *Store) mapArena(marker vfs.File) (keeps bool, err error) {
	lock, err := arena.Lock(s.fs, s.dir, vfs.Shared, s.readOnly)
	if err != nil {
		return false, err
	}
	keep := lock
	if keep == nil {
		keep = marker
	}
	if s.mapping, err = s.arena.Map(int64(s.capacity), keep); err != nil {
		err = root.IOError("map", s.dir, s.path(root.Records), err)
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
		return false, err
	}
	return lock == nil, nil
}

// flush makes every file of the root but the environment durable, whoever wrote
// it, and then their entries. Every writer's opening does so before it trusts
// what it finds.
func flush(fsys vfs.FS, dir string) error {
	for _, name := range []string{root.ArenaLock, root.Records} {
		if err := bootstrap.Touch(fsys, dir, name); err != nil {
			return err
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return root.IOError("sync directory", dir, dir, err)
	}
	return nil
}

// truth is what of a root is there.
type truth struct{ env, arena bool }

// look looks at the environment and the arena. Files without a byte hold
// nothing.
func (p Profile) look(fsys vfs.FS, dir string) (t truth, err error) {
	records, err := bootstrap.StatIfPresent(fsys, dir, root.Records)
	if err != nil {
		return t, err
	}
	t.arena = records != nil && records.Size > 0
	if p.hooks.envDir != nil {
		t.env = true
		return t, nil
	}
	data, err := bootstrap.StatIfPresent(fsys, dir, root.LMDBData)
	t.env = data != nil && data.Size > 0
	return t, err
}

// requireTruth tells a root whose making was interrupted from one that lost
// its environment or its arena. A root being made has its environment first.
func (p Profile) requireTruth(fsys vfs.FS, dir string) error {
	t, err := p.look(fsys, dir)
	if err != nil {
		return err
	}
	switch {
	case t.arena && !t.env:
		return root.Corrupt(dir, "", "", "no "+root.LMDBData+" beside an arena", "both")
	case t.arena:
		return nil
	case !t.env:
		return bootstrap.Unfinished(dir)
	}
	// Only an environment without a row may lack its arena.
	e, err := openEnv(fsys, dir, envRead, p.hooks)
	if err != nil {
		return err
	}
	pos, err := e.position()
	if err = errors.Join(err, e.close()); err != nil {
		return err
	}
	if pos > 0 {
		return noArena(dir, pos)
	}
	return bootstrap.Unfinished(dir)
}

func noArena(dir string, pos store.Position) error {
	return root.Corrupt(dir, "", "", "no arena beside "+root.LMDBData, "the bytes of the records that it has rows of")
}
