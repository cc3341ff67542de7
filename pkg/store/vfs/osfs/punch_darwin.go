package osfs

import (
	"golang.org/x/sys/unix"
)

// punchHole frees the whole blocks of the range with F_PUNCHHOLE, which takes
// nothing but whole blocks inside the file, and writes zeros to the edges.
func punchHole(handle uintptr, off, n int64) error {
	info, err := statHandle(handle)
	if err != nil {
		return err
	}
	var volume unix.Statfs_t
	if err := retryInterrupted(func() error { return unix.Fstatfs(int(handle), &volume) }); err != nil {
		return err
	}
	end := min(off+n, info.Size)
	block := int64(volume.Bsize)
	lo, hi := (off+block-1)/block*block, end/block*block
	if lo >= hi {
		return writeZeros(handle, off, end)
	}
	// The arguments of F_PUNCHHOLE (flags, reserved, offset, length) are laid
	// out like the first fields of an fstore.
	hole := unix.Fstore_t{Offset: lo, Length: hi - lo}
	err = retryInterrupted(func() error { return unix.FcntlFstore(handle, unix.F_PUNCHHOLE, &hole) })
	switch err {
	case nil:
	case unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS, unix.ENOTTY, unix.EPERM:
		return unsupported(err)
	default:
		return err
	}
	if err := writeZeros(handle, off, lo); err != nil {
		return err
	}
	return writeZeros(handle, hi, end)
}

// writeZeros overwrites [lo, hi), less than two blocks, with zeros.
func writeZeros(handle uintptr, lo, hi int64) error {
	for lo < hi {
		n, err := unix.Pwrite(int(handle), make([]byte, hi-lo), lo)
		if err != nil && err != unix.EINTR {
			return err
		}
		lo += int64(max(n, 0))
	}
	return nil
}
