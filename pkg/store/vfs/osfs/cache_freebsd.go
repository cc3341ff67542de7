package osfs

import "golang.org/x/sys/unix"

const fadvDontNeed = 4 // POSIX_FADV_DONTNEED

func dropCache(handle uintptr, off, n int64) error {
	return unix.Fadvise(int(handle), off, n, fadvDontNeed)
}
