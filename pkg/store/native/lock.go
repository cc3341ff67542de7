package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// lockPoll is the time between two tries of a lock that is waited for.
const lockPoll = 20 * time.Millisecond

// tellAfter is how long a wait lasts before it is told.
const tellAfter = time.Second / 2

// lockWithin takes a lock of f, trying for at most wait. It is ErrLocked when
// the lock is not to be had, and the context's error when that ends first. A
// wait of more than a moment is told once.
func lockWithin(ctx context.Context, f vfs.File, mode vfs.LockMode, wait time.Duration, waiting func()) error {
	begin := time.Now()
	deadline := begin.Add(wait)
	for told := false; ; {
		err := f.TryLock(mode)
		if !errors.Is(err, vfs.ErrLocked) || !time.Now().Before(deadline) {
			return err
		}
		if !told && waiting != nil && time.Since(begin) >= tellAfter {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(lockPoll, time.Until(deadline))):
		}
	}
}

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
	marker, err := openMarker(ctx, dir, opts)
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
		return nil, errors.Join(ioError("open", dir, path, err), marker.Close())
	}
	if err := marker.Close(); err != nil {
		return nil, errors.Join(ioError("close", dir, filepath.Join(dir, root.Marker), err), f.Close())
	}
	err = lockWithin(ctx, f, vfs.ExclusiveLock, opts.LockWait, tellWaiting(opts, "the lock of "+dir))
	if err != nil {
		return nil, errors.Join(lockError(opts.FS, dir, path, "another Lace has this root open", err), f.Close())
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
		return ioError("unlock", o.dir, filepath.Join(o.dir, root.Lock), err)
	}
	return nil
}

// lockArena opens arena-lock anew and takes it in the given mode without
// waiting: a lock is never converted, since a refused conversion loses the
// lock that was held. The file is nil when a reader finds no arena-lock.
func (o *Ownership) lockArena(mode vfs.LockMode) (vfs.File, error) {
	path := filepath.Join(o.dir, root.ArenaLock)
	open := vfs.ReadWrite | vfs.Create
	if o.readOnly {
		open = vfs.ReadOnly
	}
	f, err := o.fs.OpenFile(path, open)
	if o.readOnly && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("open", o.dir, path, err)
	}
	if err := f.TryLock(mode); err != nil {
		return nil, errors.Join(lockError(o.fs, o.dir, path, "a record or mapping of this root is alive somewhere", err), f.Close())
	}
	return f, nil
}

func tellWaiting(o Options, what string) func() {
	if o.Waiting == nil {
		return nil
	}
	return func() { o.Waiting(what) }
}

// lockError turns a refused lock into a Busy error that names the holder where
// the system tells.
func lockError(fsys vfs.FS, dir, path, why string, err error) error {
	if !errors.Is(err, vfs.ErrLocked) {
		return ioError("lock", dir, path, err)
	}
	var holders []string
	for _, h := range vfs.LockHolders(fsys, path) {
		// A process names itself as it likes.
		holders = append(holders, fmt.Sprintf("process %d %q", h.PID, h.Command))
	}
	if len(holders) > 0 {
		why += ": " + strings.Join(holders, ", ")
	}
	return &store.Error{
		Kind: store.Store, Reason: store.Busy, Doing: "lock", Root: dir, Path: path, Found: why,
		Hint: "wait until it is closed, or name a --lock-wait", Err: err,
	}
}

func (o *Ownership) path(name string) string { return filepath.Join(o.dir, name) }
