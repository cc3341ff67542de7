package native

import (
	"context"
	"errors"
	"io/fs"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// ioError wraps an error of the file system. A context that ended is passed on
// as Interrupted.
func ioError(doing, dir, path string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &store.Error{Kind: store.Interrupted, Doing: doing, Root: dir, Path: path, Err: err}
	}
	if p, ok := err.(*fs.PathError); ok {
		err = p.Err // the path and what was done stand in the error already
	}
	e := &store.Error{Kind: store.Store, Doing: doing, Root: dir, Path: path, Err: err}
	if vfs.NoSpace(err) {
		e.Reason = store.NoSpace
	}
	return e
}

// corrupt is a CorruptStore error about a place in a file.
func corrupt(dir, path, where, found, want string) error {
	return &store.Error{
		Kind: store.CorruptStore, Doing: "open", Root: dir, Path: path, Where: where, Found: found, Want: want,
		Hint: "nothing was changed; lace verify " + dir + " lists everything that is wrong",
	}
}
