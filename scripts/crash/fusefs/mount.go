//go:build linux

package fusefs

import (
	"errors"
	"io"
	"io/fs"
	"log"
	"syscall"

	fusenodes "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Device is what mounting needs of the machine.
const Device = "/dev/fuse"

// maxWrite is the longest piece in which the kernel passes a write on, in bytes.
const maxWrite = 1 << 20

// Serve mounts fsys at dir until the server is unmounted.
func Serve(dir string, fsys vfs.FS) (*fuse.Server, error) {
	options := &fusenodes.Options{
		MountOptions: fuse.MountOptions{
			DirectMountStrict: true, FsName: "lace-model", Name: "lace-model", MaxWrite: maxWrite,
			// A mapping is to be filled with little more than is asked for.
			MaxReadAhead: 1 << 16,
			// It would tell of every answer to a process that was killed.
			Logger: log.New(io.Discard, "", 0),
		},
	}
	return Private(func() (*fuse.Server, error) { return fusenodes.Mount(dir, &node{fsys: fsys}, options) })
}

// errno is the number of an error, for the kernel. What has none is EIO, as a
// machine that has crashed.
func errno(err error) syscall.Errno {
	var number syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &number):
		return number
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrInvalid):
		return syscall.EINVAL
	}
	return syscall.EIO
}

// setAttr tells the kernel what vfs says of a file.
func setAttr(out *fuse.Attr, i vfs.Info) {
	out.Ino, out.Mode, out.Nlink = i.FileID.Inode, mode(i.Type), 1
	out.Size, out.Blocks, out.Blksize = uint64(i.Size), uint64(i.Allocated)/512, 4096
}

func mode(t vfs.Type) uint32 {
	if t == vfs.Directory {
		return syscall.S_IFDIR | 0o777
	}
	return syscall.S_IFREG | 0o666
}
