package compact

import (
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// finish is step F: journal, state and plan go, in this order, each removal
// durable before the next.
func (r *run) finish() error {
	return removeInOrder(r.profile.FS(), r.profile.Dir(),
		root.Journal, // without a state, a journal that came back would be a leftover of nothing
		root.State,   // from here on the root is a normal one that has a leftover plan
		root.Plan,    // a plan that went before the state would make the state CorruptStore
	)
}

// removeInOrder removes entries of the root that are there, and makes each
// removal durable before the next: removals that are not may survive a power
// cut in any combination.
func removeInOrder(fsys vfs.FS, dir string, names ...string) error {
	for _, name := range names {
		present, err := isPresent(fsys, filepath.Join(dir, name))
		if err != nil {
			return ioError(dir, "look at", name, err)
		}
		if !present {
			continue
		}
		if err := vfs.RemoveIfPresent(fsys, filepath.Join(dir, name)); err != nil {
			return ioError(dir, "remove", name, err)
		}
		if err := fsys.SyncDir(dir); err != nil {
			return ioError(dir, "sync the directory after removing", name, err)
		}
	}
	return nil
}
