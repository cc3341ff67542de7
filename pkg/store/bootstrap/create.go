package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Create makes the root directory when it is absent, and opens or creates
// store-format under the bootstrap lock; it writes what a strict prefix of the
// marker lacks, if and only if the root holds no other entry (seed 002). A
// directory that holds anything else is refused untouched. The returned file
// holds the lock.
func Create(ctx context.Context, dir, profileName string, opts profile.Options) (vfs.File, error) {
	f, path, err := createMarker(dir, opts)
	if err != nil {
		return nil, err
	}
	if err := lock(ctx, f, dir, path, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := complete(f, dir, path, profileName, opts.FS); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Make is Create for a profile without a bootstrap lock: nothing stays open.
// Programs that make one root at a time write the same bytes, and all but one
// fail on the lifetime lock (seed 002).
func Make(dir, profileName string, opts profile.Options) error {
	f, path, err := createMarker(dir, opts)
	if err != nil {
		return err
	}
	err = complete(f, dir, path, profileName, opts.FS)
	if errors.Is(err, store.NotRoot) {
		// Another program may have completed it since, and gone on.
		err = complete(f, dir, path, profileName, opts.FS)
	}
	if e := f.Close(); e != nil {
		err = errors.Join(err, root.IOError("close", dir, path, e))
	}
	return err
}

func createMarker(dir string, opts profile.Options) (f vfs.File, path string, err error) {
	path = filepath.Join(dir, root.Marker)
	if err := makeDir(opts.FS, dir); err != nil {
		return nil, path, err
	}
	if f, err = opts.FS.OpenFile(path, vfs.ReadWrite|vfs.Create); err != nil {
		return nil, path, root.IOError("create", dir, path, err)
	}
	return f, path, nil
}

// complete accepts the marker, or finishes writing it.
func complete(f vfs.File, dir, path, profileName string, fsys vfs.FS) error {
	marker := root.MarkerOf(profileName)
	got, err := root.ReadMarker(f, len(marker))
	if prefix, ok := unfinished(got, marker); err == nil && ok {
		if err = requireOnlyMarker(fsys, dir); err == nil {
			_, err = f.WriteAt([]byte(marker)[prefix:], int64(prefix))
		}
	} else if err == nil {
		if err = judge(got, dir, path, profileName); err == nil {
			err = refuseForeignEntries(fsys, dir, profileName)
		}
	}
	if err == nil {
		err = syncMarker(f, dir, path, fsys)
	}
	var known *store.Error
	if err != nil && !errors.As(err, &known) {
		err = root.IOError("create", dir, path, err)
	}
	return err
}

// makeDir makes the root directory and its entry durable. A directory without
// a marker is also what an opener leaves that died before it synced the entry;
// a marker is made only after that.
func makeDir(fsys vfs.FS, dir string) error {
	err := fsys.Mkdir(dir)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrExist):
		return root.IOError("create", dir, dir, err)
	case isNoDirectory(fsys, dir):
		return notRoot(dir, "no directory", err)
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
		return root.IOError("sync directory", dir, parent, err)
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
		return false, root.IOError("open", dir, path, err)
	}
	return true, nil
}

// requireOnlyMarker refuses a directory that holds another entry than a marker.
func requireOnlyMarker(fsys vfs.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return root.IOError("read directory", dir, dir, err)
	}
	for _, e := range entries {
		if e.Name != root.Marker {
			return notRoot(dir, fmt.Sprintf("no complete marker, but an entry %q", e.Name), nil)
		}
	}
	return nil
}

func isNoDirectory(fsys vfs.FS, dir string) bool {
	info, err := fsys.Stat(dir)
	return err == nil && info.Type != vfs.Directory && info.Type != vfs.Symlink
}

func notRoot(dir, found string, err error) *store.Error {
	return &store.Error{Kind: store.NotRoot, Doing: "open", Root: dir, Path: dir, Found: found, Want: "a Lace root", Err: err}
}

// Unfinished is the error about a root whose making was interrupted before it
// could hold a record.
func Unfinished(dir string) error {
	e := notRoot(dir, "an unfinished root: making it was interrupted before its first record", nil)
	e.Hint = "lace admit " + dir + " --create finishes making it"
	return e
}
