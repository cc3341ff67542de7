package native

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// openMarker opens store-format, takes the bootstrap lock on it and accepts
// only the exact native marker. The returned file holds the lock. No other
// path of the root is touched before the marker was accepted.
func openMarker(ctx context.Context, dir string, opts Options) (vfs.File, error) {
	path := filepath.Join(dir, root.Marker)
	mode := vfs.ReadWrite // a writer syncs the marker it accepted
	if opts.ReadOnly {
		mode = vfs.ReadOnly
	}
	f, err := opts.FS.OpenFile(path, mode)
	if err != nil {
		return nil, root.OpenError(opts.FS, dir, err)
	}
	if err := lockBootstrap(ctx, f, dir, path, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := acceptMarker(f, dir, path, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockBootstrap(ctx context.Context, f vfs.File, dir, path string, opts Options) error {
	err := lockWithin(ctx, f, vfs.ExclusiveLock, bootstrapWait+opts.LockWait, tellWaiting(opts, "the bootstrap lock of "+dir))
	if err != nil {
		return lockError(opts.FS, dir, path, "another program is opening this root", err)
	}
	return nil
}

// acceptMarker reads at most one byte more than the marker has.
func acceptMarker(f vfs.File, dir, path string, opts Options) error {
	got, err := root.ReadMarker(f, len(root.NativeMarker))
	if err != nil {
		return ioError("read", dir, path, err)
	}
	if err := judgeMarker(got, dir, path); err != nil {
		return err
	}
	if opts.ReadOnly {
		return nil
	}
	return syncMarker(f, dir, path, opts.FS)
}

// syncMarker makes the marker and its entry durable, so that a root that was
// opened once can never come back without it.
func syncMarker(f vfs.File, dir, path string, fsys vfs.FS) error {
	if err := f.Sync(); err != nil {
		return ioError("sync", dir, path, err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return ioError("sync directory", dir, dir, err)
	}
	return nil
}

// judgeMarker accepts the native marker and names what any other one is.
func judgeMarker(got []byte, dir, path string) error {
	profile, err := root.Judge(got, dir)
	if err == nil && profile != root.Native {
		return &store.Error{
			Kind: store.Unsupported, Doing: "open", Root: dir, Path: path,
			Found: "a root of the " + profile + " profile, not of the native one",
		}
	}
	return err
}

// unfinished recognizes a strict prefix of the marker and returns its length.
// A power cut may leave the size of a file without its bytes, so zeros in place
// of the rest are the same (the seed speaks of the prefix alone).
func unfinished(got []byte) (prefix int, ok bool) {
	written := bytes.TrimRight(got, "\x00")
	ok = len(written) < len(root.NativeMarker) && len(got) <= len(root.NativeMarker) &&
		strings.HasPrefix(root.NativeMarker, string(written))
	return len(written), ok
}

func isNoDirectory(fsys vfs.FS, dir string) bool {
	info, err := fsys.Stat(dir)
	return err == nil && info.Type != vfs.Directory && info.Type != vfs.Symlink
}

func notRoot(dir, path, found string, err error) *store.Error {
	return &store.Error{Kind: store.NotRoot, Doing: "open", Root: dir, Path: path, Found: found, Want: "a Lace root", Err: err}
}
