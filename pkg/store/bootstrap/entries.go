package bootstrap

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// RefuseCompactionFiles rejects a root with files of an interrupted compaction
// or leftovers of one, naming the command that resumes (seed 000).
func RefuseCompactionFiles(fsys vfs.FS, dir string) error {
	for _, name := range root.CompactionEntries() {
		info, err := StatIfPresent(fsys, dir, name)
		if err != nil {
			return err
		}
		if info == nil {
			continue
		}
		return &store.Error{
			Kind: store.NeedsResume, Doing: "open", Root: dir,
			Found: "a compaction of this root was interrupted: there is " + name,
			Hint:  "lace resume " + dir,
		}
	}
	return nil
}

// StatIfPresent describes an entry of the root; nil is none.
func StatIfPresent(fsys vfs.FS, dir, name string) (*vfs.Info, error) {
	path := filepath.Join(dir, name)
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, root.IOError("open", dir, path, err)
	}
	return &info, nil
}

// Touch creates an absent file of the root and syncs it.
func Touch(fsys vfs.FS, dir, name string) error {
	path := filepath.Join(dir, name)
	f, err := fsys.OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		return root.IOError("create", dir, path, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return root.IOError("sync", dir, path, err)
	}
	return nil
}
