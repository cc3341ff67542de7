package root

import (
	"context"
	"errors"
	"io/fs"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// IOError wraps an error of the file system about a path of the root dir. A
// context that ended is passed on as Interrupted; that something else is in the
// place of a file is CorruptStore.
func IOError(doing, dir, path string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &store.Error{Kind: store.Interrupted, Doing: doing, Root: dir, Path: path, Err: err}
	}
	if p, ok := err.(*fs.PathError); ok {
		err = p.Err // the path and what was done stand in the error already
	}
	if errors.Is(err, vfs.ErrNotRegular) {
		// No other try finds a file there.
		return &store.Error{Kind: store.CorruptStore, Doing: doing, Root: dir, Path: path, Err: err, Hint: "nothing was changed; lace inspect " + dir}
	}
	e := &store.Error{Kind: store.Store, Doing: doing, Root: dir, Path: path, Err: err}
	if vfs.NoSpace(err) {
		e.Reason = store.NoSpace
	}
	return e
}

// Corrupt is a CorruptStore error about a place in a file of the root dir.
func Corrupt(dir, path, where, found, want string) error {
	return &store.Error{
		Kind: store.CorruptStore, Doing: "open", Root: dir, Path: path, Where: where, Found: found, Want: want,
		Hint: "nothing was changed; lace verify " + dir + " lists everything that is wrong",
	}
}

// Resumable says in an error how to go on once a compaction has begun.
func Resumable(err error, dir string) error {
	var e *store.Error
	if errors.As(err, &e) && e.Hint == "" {
		e.Hint = "nothing was lost; lace resume " + dir
	}
	return err
}
