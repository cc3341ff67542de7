package native

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Ownership is the lifetime lock of a root whose marker was checked. It
// excludes every other Lace; it says nothing about mappings that outlive one.
type Ownership struct {
	fs       vfs.FS
	dir      string
	readOnly bool
	held     vfs.File // lock, or the marker for a reader of a root without it
}

// Own checks the marker of the root dir under the bootstrap lock and takes the
// lifetime lock. It creates nothing but, unless opts.ReadOnly, an absent lock
// file. The root may hold files of an interrupted compaction.
func Own(ctx context.Context, dir string, opts Options) (*Ownership, error) {
	marker, err := bootstrap.Open(ctx, dir, root.Native, opts)
	if err != nil {
		return nil, err
	}
	return ownUnder(ctx, marker, dir, opts)
}

// ownUnder gives the bootstrap lock up and takes the lifetime lock.
func ownUnder(ctx context.Context, marker vfs.File, dir string, opts Options) (*Ownership, error) {
	path := filepath.Join(dir, root.Lock)
	mode := vfs.ReadWrite | vfs.Create
	if opts.ReadOnly {
		mode = vfs.ReadOnly
	}
	f, err := opts.FS.OpenFile(path, mode)
	if opts.ReadOnly && errors.Is(err, fs.ErrNotExist) {
		// A reader creates no lock file. It keeps the bootstrap lock instead,
		// which every other opener needs first.
		return &Ownership{fs: opts.FS, dir: dir, readOnly: true, held: marker}, nil
	}
	if err != nil {
		return nil, errors.Join(root.IOError("open", dir, path, err), marker.Close())
	}
	if err := marker.Close(); err != nil {
		return nil, errors.Join(root.IOError("close", dir, filepath.Join(dir, root.Marker), err), f.Close())
	}
	err = bootstrap.LockWithin(ctx, f, vfs.ExclusiveLock, opts.LockWait, bootstrap.TellWaiting(opts, "the lock of "+dir))
	if err != nil {
		return nil, errors.Join(bootstrap.LockError(opts.FS, dir, path, "another Lace has this root open", err), f.Close())
	}
	return &Ownership{fs: opts.FS, dir: dir, readOnly: opts.ReadOnly, held: f}, nil
}

// Release gives the lifetime lock back, explicitly before closing: a copy of
// the descriptor in a forked child then holds nothing (seed 002).
func (o *Ownership) Release() error {
	if o.held == nil {
		return nil
	}
	f := o.held
	o.held = nil
	if err := errors.Join(f.Unlock(), f.Close()); err != nil {
		return root.IOError("unlock", o.dir, filepath.Join(o.dir, root.Lock), err)
	}
	return nil
}
