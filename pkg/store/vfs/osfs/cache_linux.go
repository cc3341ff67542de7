package osfs

import "golang.org/x/sys/unix"

func dropCache(handle uintptr, off, n int64) error {
	return unix.Fadvise(int(handle), off, n, unix.FADV_DONTNEED)
}
