package vfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// TempSuffix ends the name of the temporary that Replace renames.
const TempSuffix = ".lace-tmp"

// replaceBuffer is the size of the buffered writes of Replace, in bytes.
const replaceBuffer = 64 << 10

// Replace durably puts what write produces in place of dir/name: it writes
// <name>.lace-tmp, syncs it, renames it over name and syncs the directory
// (seed 000). The name is therefore absent, wholly old or wholly new at every
// moment. On any error before the rename the temporary is unlinked and the
// old file is untouched; after a failed SyncDir either file may be durable.
func Replace(fsys FS, dir, name string, write func(io.Writer) error) error {
	temp := filepath.Join(dir, name+TempSuffix)
	// A temporary left by another run is never written into: its cached pages
	// may be those of a failed sync.
	if err := RemoveIfPresent(fsys, temp); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	if err := writeTemp(fsys, temp, write); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", name, err), RemoveIfPresent(fsys, temp))
	}
	if err := fsys.Rename(temp, filepath.Join(dir, name)); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", name, err), RemoveIfPresent(fsys, temp))
	}
	// Without this, a power cut may bring the old file back after the caller
	// has acted on the new one.
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("replace %s: sync directory: %w", name, err)
	}
	return nil
}

func writeTemp(fsys FS, temp string, write func(io.Writer) error) (err error) {
	f, err := fsys.OpenFile(temp, ReadWrite|Create|Exclusive)
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, f.Close())
		}
	}()
	w := bufio.NewWriterSize(io.NewOffsetWriter(f, 0), replaceBuffer)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// Without this, the rename may become durable before the bytes.
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	closed = true
	return f.Close()
}

// RemoveIfPresent removes a file; that it is absent already is no error. The
// removal is durable only after SyncDir.
func RemoveIfPresent(fsys FS, path string) error {
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveTree removes a directory and everything below it, one entry at a
// time, without following links. That path is absent already is no error.
func RemoveTree(fsys FS, path string) error {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Type == Directory {
		entries, err := fsys.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := RemoveTree(fsys, filepath.Join(path, e.Name)); err != nil {
				return err
			}
		}
	}
	return RemoveIfPresent(fsys, path)
}
