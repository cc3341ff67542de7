package osfs

import "golang.org/x/sys/unix"

// startWriteBack begins to write the dirty pages of a range. It waits for none
// and clears no error: fsync waits for them and tells what failed.
func startWriteBack(handle uintptr, off, n int64) {
	_ = unix.SyncFileRange(int(handle), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

func readAhead(handle uintptr, off, n int64) {
	_ = unix.Fadvise(int(handle), off, n, unix.FADV_WILLNEED)
}
