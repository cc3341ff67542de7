package crashfs

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// clean brings a path of the host to the form "/a/b". A relative path starts
// at "/" too.
func clean(host string) string {
	return path.Clean("/" + filepath.ToSlash(strings.TrimPrefix(host, filepath.VolumeName(host))))
}

// lookup finds what is at a path.
func (f *FS) lookup(op, host string) (*inode, error) {
	n := f.inodes[rootID]
	for name := range strings.SplitSeq(strings.Trim(clean(host), "/"), "/") {
		if name == "" {
			continue
		}
		if n.kind != vfs.Directory {
			return nil, pathError(op, host, syscall.ENOTDIR)
		}
		id, ok := n.entries.m[name]
		if !ok {
			return nil, pathError(op, host, syscall.ENOENT)
		}
		n = f.inodes[id]
	}
	return n, nil
}

// parent finds the directory in which a path is an entry, and its name there.
func (f *FS) parent(op, host string) (dir *inode, name string, err error) {
	at, name := path.Split(clean(host))
	if name == "" {
		return nil, "", pathError(op, host, syscall.EBUSY)
	}
	dir, err = f.lookup(op, at)
	if err != nil {
		return nil, "", err
	}
	if dir.kind != vfs.Directory {
		return nil, "", pathError(op, host, syscall.ENOTDIR)
	}
	return dir, name, nil
}

// find finds the directory of a path and what is there, if anything.
func (f *FS) find(op, host string) (dir *inode, name string, n *inode, err error) {
	if dir, name, err = f.parent(op, host); err != nil {
		return nil, "", nil, err
	}
	return dir, name, f.inodes[dir.entries.m[name]], nil
}

// Stat describes what is at path.
func (f *FS) Stat(path string) (vfs.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("stat", path); err != nil {
		return vfs.Info{}, err
	}
	n, err := f.lookup("stat", path)
	if err != nil {
		return vfs.Info{}, err
	}
	return n.info(filepath.Base(path)), nil
}

// device is the Device of every FileID here.
const device = 0xc4a54

func (n *inode) info(name string) vfs.Info {
	return vfs.Info{
		Name:      name,
		Type:      n.kind,
		Size:      n.cache.size,
		Allocated: int64(len(n.cache.sectors.m)) * sectorBytes,
		FileID:    vfs.FileID{Device: device, Inode: n.id},
	}
}

// ReadDir lists a directory.
func (f *FS) ReadDir(path string) ([]vfs.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("list", path); err != nil {
		return nil, err
	}
	dir, err := f.lookup("list", path)
	if err != nil {
		return nil, err
	}
	if dir.kind != vfs.Directory {
		return nil, pathError("list", path, syscall.ENOTDIR)
	}
	infos := make([]vfs.Info, 0, len(dir.entries.m))
	for name, id := range dir.entries.m {
		infos = append(infos, f.inodes[id].info(name))
	}
	slices.SortFunc(infos, func(a, b vfs.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// Mkdir makes one directory.
func (f *FS) Mkdir(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("mkdir", path); err != nil {
		return err
	}
	dir, name, there, err := f.find("mkdir", path)
	if err != nil {
		return err
	}
	if there != nil {
		return pathError("mkdir", path, syscall.EEXIST)
	}
	return f.change("mkdir", path, func() { f.link(dir, name, f.newInode(vfs.Directory, name)) })
}

// link makes an entry, as a change of its own.
func (f *FS) link(dir *inode, name string, n *inode) {
	f.order++
	n.name = name
	dir.setEntry(entryChange{name: name, id: n.id, order: f.order})
}

// Remove removes a file or an empty directory.
func (f *FS) Remove(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("remove", path); err != nil {
		return err
	}
	dir, name, there, err := f.find("remove", path)
	if err != nil {
		return err
	}
	if there == nil {
		return pathError("remove", path, syscall.ENOENT)
	}
	if len(there.entries.m) > 0 {
		return pathError("remove", path, syscall.ENOTEMPTY)
	}
	return f.change("remove", path, func() {
		f.order++
		dir.setEntry(entryChange{name: name, order: f.order})
	})
}

// Rename moves a file over newPath. Directories are not moved here.
func (f *FS) Rename(oldPath, newPath string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("rename", oldPath); err != nil {
		return err
	}
	from, oldName, n, err := f.find("rename", oldPath)
	if err != nil {
		return err
	}
	if n == nil {
		return pathError("rename", oldPath, syscall.ENOENT)
	}
	to, newName, replaced, err := f.find("rename", newPath)
	if err != nil {
		return err
	}
	if n.kind == vfs.Directory || replaced != nil && replaced.kind == vfs.Directory {
		return pathError("rename", newPath, syscall.EISDIR)
	}
	return f.change("rename", oldPath, func() {
		if n == replaced {
			return
		}
		f.order++
		n.name = newName
		to.setEntry(entryChange{name: newName, id: n.id, order: f.order})
		from.setEntry(entryChange{name: oldName, order: f.order})
	})
}

// SyncDir makes the directory's entries durable, not what they name.
func (f *FS) SyncDir(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("syncdir", path); err != nil {
		return err
	}
	dir, err := f.lookup("syncdir", path)
	if err != nil {
		return err
	}
	if dir.kind != vfs.Directory {
		return pathError("syncdir", path, syscall.ENOTDIR)
	}
	return f.sync("syncdir", path, dir)
}

// unlimited is the free space that a file system without a limit claims.
const unlimited = 1 << 50

// Space describes this file system.
func (f *FS) Space(path string) (vfs.Space, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("space", path); err != nil {
		return vfs.Space{}, err
	}
	if _, err := f.lookup("space", path); err != nil {
		return vfs.Space{}, err
	}
	space := vfs.Space{FreeBytes: unlimited, FreeInodes: -1, BlockSize: sectorBytes, FSType: "crashfs"}
	if f.options.FreeBytes > 0 {
		space.FreeBytes = f.options.FreeBytes - f.used()
	}
	return space, nil
}
