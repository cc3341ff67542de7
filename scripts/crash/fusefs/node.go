//go:build linux

package fusefs

import (
	"context"
	"path"
	"syscall"

	fusenodes "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// node is a file or a directory, found by its path at every call.
type node struct {
	fusenodes.Inode
	fsys vfs.FS
}

var (
	_ fusenodes.NodeLookuper  = (*node)(nil)
	_ fusenodes.NodeReaddirer = (*node)(nil)
	_ fusenodes.NodeGetattrer = (*node)(nil)
	_ fusenodes.NodeSetattrer = (*node)(nil)
	_ fusenodes.NodeOpener    = (*node)(nil)
	_ fusenodes.NodeCreater   = (*node)(nil)
	_ fusenodes.NodeMkdirer   = (*node)(nil)
	_ fusenodes.NodeUnlinker  = (*node)(nil)
	_ fusenodes.NodeRmdirer   = (*node)(nil)
	_ fusenodes.NodeRenamer   = (*node)(nil)
	_ fusenodes.NodeFsyncer   = (*node)(nil)
	_ fusenodes.NodeStatfser  = (*node)(nil)
)

// path is where the node is, in the file system that is served.
func (n *node) path() string { return path.Join("/", n.Path(n.Root())) }

// child is the node of an entry. One inode has one node.
func (n *node) child(ctx context.Context, i vfs.Info) *fusenodes.Inode {
	return n.NewInode(ctx, &node{fsys: n.fsys}, fusenodes.StableAttr{Mode: mode(i.Type), Ino: i.FileID.Inode})
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusenodes.Inode, syscall.Errno) {
	i, err := n.fsys.Stat(path.Join(n.path(), name))
	if err != nil {
		return nil, errno(err)
	}
	setAttr(&out.Attr, i)
	return n.child(ctx, i), 0
}

func (n *node) Readdir(context.Context) (fusenodes.DirStream, syscall.Errno) {
	infos, err := n.fsys.ReadDir(n.path())
	entries := make([]fuse.DirEntry, 0, len(infos))
	for _, i := range infos {
		entries = append(entries, fuse.DirEntry{Name: i.Name, Ino: i.FileID.Inode, Mode: mode(i.Type)})
	}
	return fusenodes.NewListDirStream(entries), errno(err)
}

func (n *node) Getattr(_ context.Context, h fusenodes.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var i vfs.Info
	var err error
	if f, ok := h.(*handle); ok {
		i, err = f.file.Stat()
	} else {
		i, err = n.fsys.Stat(n.path())
	}
	setAttr(&out.Attr, i)
	return errno(err)
}

// Setattr sets the size. Times and modes are not kept.
func (n *node) Setattr(ctx context.Context, h fusenodes.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if err := n.truncate(h, int64(size)); err != nil {
			return errno(err)
		}
	}
	return n.Getattr(ctx, h, out)
}

func (n *node) truncate(h fusenodes.FileHandle, size int64) error {
	if f, ok := h.(*handle); ok {
		return f.file.Truncate(size)
	}
	f, err := n.fsys.OpenFile(n.path(), vfs.ReadWrite)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Close()
}

func (n *node) Open(_ context.Context, flags uint32) (fusenodes.FileHandle, uint32, syscall.Errno) {
	m := vfs.ReadOnly
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		m = vfs.ReadWrite
	}
	f, err := n.fsys.OpenFile(n.path(), m)
	if err != nil {
		return nil, 0, errno(err)
	}
	return &handle{f}, 0, 0
}

func (n *node) Create(ctx context.Context, name string, flags, _ uint32, out *fuse.EntryOut) (*fusenodes.Inode, fusenodes.FileHandle, uint32, syscall.Errno) {
	m := vfs.ReadWrite | vfs.Create
	if flags&syscall.O_EXCL != 0 {
		m |= vfs.Exclusive
	}
	f, err := n.fsys.OpenFile(path.Join(n.path(), name), m)
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	i, err := f.Stat()
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	setAttr(&out.Attr, i)
	return n.child(ctx, i), &handle{f}, 0, 0
}

func (n *node) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fusenodes.Inode, syscall.Errno) {
	if err := n.fsys.Mkdir(path.Join(n.path(), name)); err != nil {
		return nil, errno(err)
	}
	return n.Lookup(ctx, name, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return errno(n.fsys.Remove(path.Join(n.path(), name)))
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return errno(n.fsys.Remove(path.Join(n.path(), name)))
}

func (n *node) Rename(_ context.Context, name string, to fusenodes.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	into, ok := to.(*node)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	return errno(n.fsys.Rename(path.Join(n.path(), name), path.Join(into.path(), newName)))
}

// Fsync is also what the kernel asks of a directory.
func (n *node) Fsync(_ context.Context, h fusenodes.FileHandle, _ uint32) syscall.Errno {
	if f, ok := h.(*handle); ok {
		return errno(f.file.Sync())
	}
	return errno(n.fsys.SyncDir(n.path()))
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	s, err := n.fsys.Space("/")
	if err != nil {
		return errno(err)
	}
	out.Bsize, out.Frsize, out.NameLen = uint32(s.BlockSize), uint32(s.BlockSize), 255
	out.Blocks, out.Bfree = uint64(s.FreeBytes/s.BlockSize), uint64(s.FreeBytes/s.BlockSize)
	out.Bavail, out.Files, out.Ffree = out.Bfree, 1<<20, 1<<20
	return 0
}
