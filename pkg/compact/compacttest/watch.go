package compacttest

import "github.com/lace-store/lace/pkg/store/vfs"

// watch notes that a sync of a directory failed. A file system whose metadata
// cannot be written shuts down (ext4, xfs and btrfs do), so that, unlike with
// a failed sync of a file, nothing goes on in the same boot.
type watch struct {
	vfs.FS
	dirFailed bool
}

// Unwrap returns the watched file system.
func (w *watch) Unwrap() vfs.FS { return w.FS }

// SyncDir implements vfs.FS.
func (w *watch) SyncDir(path string) error {
	err := w.FS.SyncDir(path)
	w.dirFailed = w.dirFailed || err != nil
	return err
}
