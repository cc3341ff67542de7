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

// refuseForeignEntries rejects a root that holds what roots of its profile never
// do: its marker was exchanged for that of another profile, whose locks do not
// keep the programs out that know it by its own. It is asked behind the marker.
func refuseForeignEntries(fsys vfs.FS, dir, profileName string) error {
	for _, name := range root.ForeignEntries(profileName) {
		info, err := StatIfPresent(fsys, dir, name)
		if err != nil {
			return err
		}
		if info == nil {
			continue
		}
		return &store.Error{
			Kind: store.CorruptStore, Doing: "open", Root: dir, Path: filepath.Join(dir, name),
			Found: "an entry that no root of the " + profileName + " profile has, beside its marker", Want: "the marker that the root was made with",
			Hint: "nothing was changed; put the right " + root.Marker + " back, or restore the whole directory from one backup",
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
