package osfs

import "golang.org/x/sys/unix"

// syncHandle asks the drive to empty its cache too, which fsync does not do on
// macOS. Network file systems lack that verb; fsync is all they offer.
func syncHandle(handle uintptr) error {
	_, err := unix.FcntlInt(handle, unix.F_FULLFSYNC, 0)
	if err == unix.ENOTSUP {
		return unix.Fsync(int(handle))
	}
	return err
}
