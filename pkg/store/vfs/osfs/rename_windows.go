package osfs

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// A virus scanner or an indexer holds a new file for some milliseconds.
const (
	sharingAttempts = 20
	sharingFirst    = time.Millisecond
	sharingLongest  = 100 * time.Millisecond
)

// retrySharing repeats a call for about a second and a half while another
// program holds the file. Such a refused call did nothing.
func retrySharing(call func() error) error {
	wait := sharingFirst
	for attempt := 1; ; attempt++ {
		err := call()
		if attempt == sharingAttempts || !isSharing(err) {
			return err
		}
		time.Sleep(wait)
		wait = min(2*wait, sharingLongest)
	}
}

func isSharing(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// Rename moves a file over newPath in one call, which returns after the move
// is on the disk. It never deletes first, so newPath is there at every moment.
func (FS) Rename(oldPath, newPath string) error {
	from, err := windows.UTF16PtrFromString(oldPath)
	if err != nil {
		return renameError(oldPath, newPath, err)
	}
	to, err := windows.UTF16PtrFromString(newPath)
	if err != nil {
		return renameError(oldPath, newPath, err)
	}
	err = retrySharing(func() error {
		err := windows.MoveFileEx(from, to, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
		if err == windows.ERROR_ACCESS_DENIED { // what an open destination shows as
			err = errors.Join(windows.ERROR_SHARING_VIOLATION, err)
		}
		return err
	})
	if err != nil {
		return renameError(oldPath, newPath, err)
	}
	return nil
}

func renameError(oldPath, newPath string, err error) error {
	return &os.LinkError{Op: "rename", Old: oldPath, New: newPath, Err: err}
}

// Remove removes a file, a link or an empty directory.
func (FS) Remove(path string) error {
	return retrySharing(func() error { return os.Remove(path) })
}
