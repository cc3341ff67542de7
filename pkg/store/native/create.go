package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Create opens the root dir for writing, making it first when it is absent,
// and finishing it when an earlier making was interrupted before the first
// record. A directory that holds anything else is refused untouched.
func Create(ctx context.Context, dir string, opts Options) (*Store, error) {
	if opts.ReadOnly {
		return nil, &store.Error{Kind: store.Integration, Doing: "create", Root: dir, Found: "read-only options"}
	}
	capacity, err := creationCapacity(opts, dir)
	if err != nil {
		return nil, err
	}
	if err := makeDir(opts.FS, dir); err != nil {
		return nil, err
	}
	marker, err := completeMarker(ctx, dir, opts)
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

// makeDir makes the root directory and its entry durable. A directory without
// a marker is also what an opener leaves that died before it synced the entry;
// a marker is made only after that.
func makeDir(fsys vfs.FS, dir string) error {
	err := fsys.Mkdir(dir)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrExist):
		return ioError("create", dir, dir, err)
	case isNoDirectory(fsys, dir):
		return notRoot(dir, dir, "no directory", err)
	default:
		marked, err := requireMarkerOrEmpty(fsys, dir)
		if marked || err != nil {
			return err
		}
	}
	// Without this, a power cut takes the whole root away after records were
	// admitted to it.
	parent := filepath.Dir(filepath.Clean(dir))
	if err := fsys.SyncDir(parent); err != nil {
		return ioError("sync directory", dir, parent, err)
	}
	return nil
}

// requireMarkerOrEmpty keeps a marker from being made in a directory that
// holds something else. It is a courtesy before the lock; requireOnlyMarker
// decides under it.
func requireMarkerOrEmpty(fsys vfs.FS, dir string) (marked bool, err error) {
	foreign := requireOnlyMarker(fsys, dir)
	// Asked after the listing: another opener may make the whole root
	// meanwhile, the marker first.
	path := filepath.Join(dir, root.Marker)
	_, err = fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, foreign
	}
	if err != nil {
		return false, ioError("open", dir, path, err)
	}
	return true, nil
}

// completeMarker opens or creates store-format under the bootstrap lock and
// writes what a strict prefix of the marker lacks, if and only if the root
// holds no other entry (seed 002). The returned file holds the lock.
func completeMarker(ctx context.Context, dir string, opts Options) (vfs.File, error) {
	path := filepath.Join(dir, root.Marker)
	f, err := opts.FS.OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		return nil, ioError("create", dir, path, err)
	}
	if err := lockBootstrap(ctx, f, dir, path, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	got, err := root.ReadMarker(f, len(root.NativeMarker))
	if prefix, ok := unfinished(got); err == nil && ok {
		if err = requireOnlyMarker(opts.FS, dir); err == nil {
			_, err = f.WriteAt([]byte(root.NativeMarker)[prefix:], int64(prefix))
		}
	} else if err == nil {
		err = judgeMarker(got, dir, path)
	}
	if err == nil {
		err = syncMarker(f, dir, path, opts.FS)
	}
	if err != nil {
		var known *store.Error
		if !errors.As(err, &known) {
			err = ioError("create", dir, path, err)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// requireOnlyMarker refuses a directory that holds another entry than a marker.
func requireOnlyMarker(fsys vfs.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return ioError("read directory", dir, dir, err)
	}
	for _, e := range entries {
		if e.Name != root.Marker {
			return notRoot(dir, dir, fmt.Sprintf("no complete marker, but an entry %q", e.Name), nil)
		}
	}
	return nil
}

// initialize makes lock, arena-lock, record-log and records, in the order that
// lets an interrupted making be told from a damaged root: the log is durable
// before there is an arena, and an arena is sized only while the log is empty.
func initialize(own *Ownership, capacity uint64) error {
	if err := own.refuseCompactionFiles(); err != nil {
		return err
	}
	logPath, arenaPath := filepath.Join(own.dir, root.RecordLog), filepath.Join(own.dir, root.Records)
	log, err := own.statIfPresent(logPath)
	if err != nil {
		return err
	}
	arena, err := own.statIfPresent(arenaPath)
	if err != nil {
		return err
	}
	switch {
	case arena != nil && log == nil:
		return corrupt(own.dir, logPath, "", "no record-log beside an arena", "both")
	case (arena == nil || arena.Size == 0) && log != nil && log.Size > 0:
		return corrupt(own.dir, arenaPath, "", fmt.Sprintf("no bytes for a record-log of %d rows", log.Size/rowlog.RowLen), "the arena")
	}
	if err := errors.Join(own.touch(root.ArenaLock), own.touch(root.RecordLog)); err != nil {
		return err
	}
	// Without this, a power cut could leave an arena without a log.
	if err := own.fs.SyncDir(own.dir); err != nil {
		return ioError("sync directory", own.dir, own.dir, err)
	}
	if arena == nil || arena.Size == 0 {
		return own.sizeArena(arenaPath, capacity)
	}
	return nil
}

// touch creates an absent file and syncs it.
func (o *Ownership) touch(name string) error {
	path := filepath.Join(o.dir, name)
	f, err := o.fs.OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		return ioError("create", o.dir, path, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return ioError("sync", o.dir, path, err)
	}
	return nil
}

func (o *Ownership) statIfPresent(path string) (*vfs.Info, error) {
	info, err := o.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("open", o.dir, path, err)
	}
	return &info, nil
}

func (o *Ownership) sizeArena(path string, capacity uint64) error {
	f, err := o.fs.OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		return ioError("create", o.dir, path, err)
	}
	err = f.SetSparse()
	if err == nil {
		err = f.Truncate(int64(capacity))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return ioError(fmt.Sprintf("size to %d bytes", capacity), o.dir, path, err)
	}
	return nil
}

// flush makes every file of the root durable, whoever wrote it, and then their
// entries: an opener that was interrupted may have left any of it unsynced.
// Every writer's opening does so before it trusts what it finds (seed 002).
func (o *Ownership) flush() error {
	for _, name := range []string{root.Lock, root.ArenaLock, root.RecordLog, root.Records} {
		if err := o.touch(name); err != nil {
			return err
		}
	}
	if err := o.fs.SyncDir(o.dir); err != nil {
		return ioError("sync directory", o.dir, o.dir, err)
	}
	return nil
}
