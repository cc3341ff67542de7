package osfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// shareAll lets others read, write, rename and remove an open file, as Unix
// does and Rust's standard library asks for; exclusion is the locks' work.
const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// openRegular opens path itself, never the target of a link, and looks at what
// was opened. Any reparse point is refused: a store does not live behind one.
func openRegular(path string, mode vfs.Mode) (*os.File, error) {
	var handle windows.Handle
	err := retrySharing(func() (err error) {
		handle, err = createFile(path, mode)
		return err
	})
	if err != nil {
		return nil, pathError("open", path, directoryOr(path, err))
	}
	kind, err := windows.GetFileType(handle)
	if err == nil && kind != windows.FILE_TYPE_DISK {
		err = vfs.ErrNotRegular
	}
	if err == nil {
		var info vfs.Info
		if info, err = statHandle(uintptr(handle)); err == nil && info.Type != vfs.Regular {
			err = vfs.ErrNotRegular
		}
	}
	if err != nil {
		return nil, errors.Join(pathError("open", path, err), windows.CloseHandle(handle))
	}
	return os.NewFile(uintptr(handle), path), nil
}

func createFile(path string, mode vfs.Mode) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	access := uint32(windows.GENERIC_READ)
	if mode&vfs.ReadWrite != 0 {
		access |= windows.GENERIC_WRITE
	}
	disposition := uint32(windows.OPEN_EXISTING)
	switch {
	case mode&vfs.Exclusive != 0:
		disposition = windows.CREATE_NEW
	case mode&vfs.Create != 0:
		disposition = windows.OPEN_ALWAYS
	}
	return windows.CreateFile(name, access, shareAll, nil, disposition,
		windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
}

// directoryOr tells a directory, which Windows refuses with "access denied",
// from a file that may not be opened.
func directoryOr(path string, err error) error {
	if err != windows.ERROR_ACCESS_DENIED {
		return err
	}
	if info, statErr := (FS{}).Stat(path); statErr == nil && info.Type == vfs.Directory {
		return fmt.Errorf("%w: %w", vfs.ErrNotRegular, err)
	}
	return err
}

// readNames lists the names in a directory that is not a link.
func readNames(path string) (names []string, err error) {
	info, err := (FS{}).Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Type != vfs.Directory {
		return nil, pathError("read directory", path, windows.ERROR_DIRECTORY)
	}
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Readdirnames(-1)
}
