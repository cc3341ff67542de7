//go:build linux || darwin || freebsd || windows

package osfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// FS is the file system of the host. Its zero value is ready for use.
type FS struct{}

var _ vfs.FS = FS{}

// New returns the file system of the host.
func New() FS { return FS{} }

// OpenFile opens a regular file. A new file gets the permissions that the
// process's umask leaves of 0666.
func (FS) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	if mode&vfs.Create != 0 && mode&vfs.ReadWrite == 0 || mode&vfs.Exclusive != 0 && mode&vfs.Create == 0 {
		return nil, pathError("open", path, fs.ErrInvalid)
	}
	f, err := openRegular(path, mode)
	if err != nil {
		return nil, err
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(pathError("open", path, err), f.Close())
	}
	return &file{os: f, conn: conn, path: path}, nil
}

// Mkdir makes one directory, with what the umask leaves of 0777.
func (FS) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

// ReadDir lists a directory. An entry that vanishes meanwhile is left out.
func (f FS) ReadDir(path string) ([]vfs.Info, error) {
	names, err := readNames(path)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	infos := make([]vfs.Info, 0, len(names))
	for _, name := range names {
		info, err := f.Stat(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// pathError is the error of one attempt on one path.
func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// unsupported says that the system refused for want of the ability, and how.
func unsupported(err error) error { return fmt.Errorf("%w: %w", vfs.ErrUnsupported, err) }

// checkRange refuses a byte range that no file can have.
func checkRange(op, path string, off, n int64) error {
	if off < 0 || n < 0 || off > math.MaxInt64-n {
		return pathError(op, path, fmt.Errorf("range of %d bytes at %d: %w", n, off, fs.ErrInvalid))
	}
	return nil
}

// baseName is the name that Info carries for path.
func baseName(path string) string {
	return filepath.Base(strings.TrimSuffix(path, string(filepath.Separator)))
}
