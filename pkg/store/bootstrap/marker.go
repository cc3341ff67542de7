package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Open opens store-format, takes the bootstrap lock on it and accepts only the
// exact marker of the named profile, which a writer then makes durable. The
// returned file holds the lock. No other path of the root is touched before the
// marker was accepted.
func Open(ctx context.Context, dir, profileName string, opts profile.Options) (vfs.File, error) {
	f, path, err := openMarker(dir, opts)
	if err != nil {
		return nil, err
	}
	if err := lock(ctx, f, dir, path, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := accept(f, dir, path, profileName, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Accept is Open for a profile without a bootstrap lock: nothing stays open.
func Accept(dir, profileName string, opts profile.Options) error {
	f, path, err := openMarker(dir, opts)
	if err != nil {
		return err
	}
	err = accept(f, dir, path, profileName, opts)
	if e := f.Close(); e != nil {
		err = errors.Join(err, root.IOError("close", dir, path, e))
	}
	return err
}

func openMarker(dir string, opts profile.Options) (f vfs.File, path string, err error) {
	path = filepath.Join(dir, root.Marker)
	mode := vfs.ReadWrite // a writer syncs the marker it accepted
	if opts.ReadOnly {
		mode = vfs.ReadOnly
	}
	if f, err = opts.FS.OpenFile(path, mode); err != nil {
		return nil, path, root.OpenError(opts.FS, dir, err)
	}
	return f, path, nil
}

func lock(ctx context.Context, f vfs.File, dir, path string, opts profile.Options) error {
	err := LockWithin(ctx, f, vfs.ExclusiveLock, wait+opts.LockWait, TellWaiting(opts, "the bootstrap lock of "+dir))
	if err != nil {
		return LockError(opts.FS, dir, path, "another program is opening this root", err)
	}
	return nil
}

// accept reads at most one byte more than the marker has.
func accept(f vfs.File, dir, path, profileName string, opts profile.Options) error {
	got, err := root.ReadMarker(f, len(root.MarkerOf(profileName)))
	if err != nil {
		return root.IOError("read", dir, path, err)
	}
	err = judge(got, dir, path, profileName)
	if err == nil {
		err = refuseForeignEntries(opts.FS, dir, profileName)
	}
	if err != nil {
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
		return root.IOError("sync", dir, path, err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return root.IOError("sync directory", dir, dir, err)
	}
	return nil
}

// judge accepts the marker of the profile and names what any other one is. got
// has at most one byte more than the marker, and may be cut off there.
func judge(got []byte, dir, path, profileName string) error {
	found, err := root.Judge(got, dir)
	if len(got) > len(root.MarkerOf(profileName)) {
		if longer, ok := root.ProfileBeginning(got); ok {
			found, err = longer, nil
		}
	}
	if err == nil && found != profileName {
		return &store.Error{
			Kind: store.Unsupported, Doing: "open", Root: dir, Path: path,
			Found: "a root of the " + found + " profile, not of the " + profileName + " one",
		}
	}
	return err
}

// unfinished recognizes a strict prefix of a marker and returns its length. A
// power cut may leave the size of a file without its bytes, so zeros in place
// of the rest are the same (the seed speaks of the prefix alone).
func unfinished(got []byte, marker string) (prefix int, ok bool) {
	written := bytes.TrimRight(got, "\x00")
	ok = len(written) < len(marker) && len(got) <= len(marker) && strings.HasPrefix(marker, string(written))
	return len(written), ok
}
