package osfs

import (
	"fmt"
	"math"

	"golang.org/x/sys/windows"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// tryLock locks every byte the file could have, as Rust's File::try_lock does.
// Such a lock belongs to the handle. It is mandatory: while it is exclusive,
// no other handle can read or write the file.
func tryLock(handle uintptr, mode vfs.LockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == vfs.ExclusiveLock {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(handle), flags, 0, math.MaxUint32, math.MaxUint32,
		new(windows.Overlapped))
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return fmt.Errorf("%w: %w", vfs.ErrLocked, err)
	}
	return err
}

func unlock(handle uintptr) error {
	return windows.UnlockFileEx(windows.Handle(handle), 0, math.MaxUint32, math.MaxUint32,
		new(windows.Overlapped))
}
