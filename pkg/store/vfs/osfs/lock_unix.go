//go:build linux || darwin || freebsd

package osfs

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// tryLock takes a flock, which belongs to the open file, not to the process:
// two opens of one path exclude each other within a process too.
func tryLock(handle uintptr, mode vfs.LockMode) error {
	how := unix.LOCK_SH
	if mode == vfs.ExclusiveLock {
		how = unix.LOCK_EX
	}
	err := retryInterrupted(func() error { return unix.Flock(int(handle), how|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		return fmt.Errorf("%w: %w", vfs.ErrLocked, err)
	}
	return err
}

func unlock(handle uintptr) error {
	return retryInterrupted(func() error { return unix.Flock(int(handle), unix.LOCK_UN) })
}
