package osfs

import (
	"golang.org/x/sys/unix"
)

// punchHole frees whole blocks and zeroes the edges, in one call however long
// the range is. It may be repeated, so an interrupted call is.
func punchHole(handle uintptr, off, n int64) error {
	err := retryInterrupted(func() error {
		return unix.Fallocate(int(handle), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	switch err {
	case unix.EOPNOTSUPP, unix.ENOSYS, // the file system or kernel lacks it
		unix.EPERM: // a sandbox forbids the call, or the file is sealed
		return unsupported(err)
	}
	return err
}
