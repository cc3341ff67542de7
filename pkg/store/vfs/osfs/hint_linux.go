package osfs

import "golang.org/x/sys/unix"

// startWriteBack begins to write the dirty pages of a range. It waits for none
// and clears no error: fsync waits for them and tells what failed.
func startWriteBack(handle uintptr, off, n int64) {
	_ = unix.SyncFileRange(int(handle), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

// readAheadStep is what one advice asks for, in bytes. The system cuts a longer
// one off at about the size of one request to the disk.
const readAheadStep = 512 << 10

func readAhead(handle uintptr, off, n int64) {
	for end := off + n; off < end; off += readAheadStep {
		_ = unix.Fadvise(int(handle), off, min(readAheadStep, end-off), unix.FADV_WILLNEED)
	}
}
