package native

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/stage"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// stageDir is this adoption's own directory below staging/.
type stageDir struct {
	path string // empty until the first record is staged
	next uint64
}

// Staged is a received record in a file of its own. It is never committed
// state: no row names it, and recovery ignores it.
type Staged struct {
	store.NewRecord
	store *Store
	path  string
	file  vfs.File
}

// Stage receives the length bytes of one record from r, verifies its full
// typed hash on the way, and syncs the file. The caller releases the result
// once the record is stored or given up.
func (s *Store) Stage(want record.Hash, length uint64, r io.Reader) (profile.Staged, error) {
	if err := stage.Check(s.dir, s.readOnly, want, length); err != nil {
		return nil, err
	}
	if err := s.makeStage(); err != nil {
		return nil, err
	}
	s.stage.next++
	path := filepath.Join(s.stage.path, strconv.FormatUint(s.stage.next, 10))
	f, err := s.fs.OpenFile(path, vfs.ReadWrite|vfs.Create|vfs.Exclusive)
	if err != nil {
		return nil, root.IOError("stage", s.dir, path, err)
	}
	staged := &Staged{NewRecord: store.NewRecord{Hash: want, Len: length, Body: f}, store: s, path: path, file: f}
	if err := staged.receive(r); err != nil {
		return nil, errors.Join(err, staged.Release())
	}
	return staged, nil
}

func (t *Staged) receive(r io.Reader) error {
	if err := stage.Receive(t.store.dir, t.path, io.NewOffsetWriter(t.file, 0), t.Hash, t.Len, r); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return root.IOError("sync", t.store.dir, t.path, err)
	}
	return nil
}

// Record implements profile.Staged.
func (t *Staged) Record() store.NewRecord { return t.NewRecord }

// Release removes the staging file.
func (t *Staged) Release() error {
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	if err := errors.Join(f.Close(), vfs.RemoveIfPresent(t.store.fs, t.path)); err != nil {
		return root.IOError("remove", t.store.dir, t.path, err)
	}
	return nil
}

// makeStage makes staging/ and a directory below it that is this store's own.
func (s *Store) makeStage() error {
	if s.stage.path != "" {
		return nil
	}
	base := s.path(root.Staging)
	if err := s.fs.Mkdir(base); err != nil && !errors.Is(err, fs.ErrExist) {
		return root.IOError("create", s.dir, base, err)
	}
	// Opening removed what earlier adoptions left, and the lifetime lock keeps
	// others out, so the first name is free.
	path := filepath.Join(base, "1")
	if err := s.fs.Mkdir(path); err != nil {
		return root.IOError("create", s.dir, path, err)
	}
	s.stage.path = path
	return nil
}

func (d *stageDir) removeAll(s *Store) error {
	if d.path == "" {
		return nil
	}
	if err := vfs.RemoveTree(s.fs, s.path(root.Staging)); err != nil {
		return root.IOError("remove", s.dir, s.path(root.Staging), err)
	}
	return nil
}
