//go:build linux || darwin || freebsd

package osfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// openRegular opens path and looks at what was opened, so that nothing can be
// exchanged in between. O_NONBLOCK keeps a FIFO from blocking the open; it
// means nothing for a regular file.
func openRegular(path string, mode vfs.Mode) (*os.File, error) {
	flags := unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | os.O_RDONLY
	if mode&vfs.ReadWrite != 0 {
		flags |= os.O_RDWR
	}
	if mode&vfs.Create != 0 {
		flags |= os.O_CREATE
	}
	if mode&vfs.Exclusive != 0 {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return nil, openError(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = pathError("open", path, vfs.ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openError recognizes the refusals that mean: this is no regular file.
func openError(path string, err error) error {
	for _, errno := range []error{
		unix.ELOOP,      // a symbolic link, by O_NOFOLLOW
		unix.EMLINK,     // the same on FreeBSD
		unix.EISDIR,     // a directory, for writing
		unix.ENXIO,      // a socket, or a device without a driver
		unix.EOPNOTSUPP, // a socket on macOS and FreeBSD
	} {
		if errors.Is(err, errno) {
			return pathError("open", path, fmt.Errorf("%w: %w", vfs.ErrNotRegular, errno))
		}
	}
	return err
}

// readNames lists the names in a directory that is not a symbolic link.
func readNames(path string) (names []string, err error) {
	d, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Readdirnames(-1)
}

// SyncDir makes the directory's entries durable with one fsync.
func (FS) SyncDir(path string) (err error) {
	d, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() {
		if e := d.Close(); e != nil {
			err = errors.Join(err, e)
		}
	}()
	conn, err := d.SyscallConn()
	if err != nil {
		return pathError("sync directory", path, err)
	}
	ctlErr := conn.Control(func(handle uintptr) { err = syncHandle(handle) })
	if err := errors.Join(ctlErr, err); err != nil {
		return pathError("sync directory", path, err)
	}
	return nil
}

// Remove removes a file, a link or an empty directory.
func (FS) Remove(path string) error { return os.Remove(path) }

// Rename moves a file over newPath with rename(2), which is atomic.
func (FS) Rename(oldPath, newPath string) error { return os.Rename(oldPath, newPath) }

// setSparse does nothing: any file may have holes here.
func setSparse(uintptr) error { return nil }
