//go:build darwin || freebsd

package osfs

import (
	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Space describes the file system that holds path.
func (FS) Space(path string) (vfs.Space, error) {
	var st unix.Statfs_t
	if err := retryInterrupted(func() error { return unix.Statfs(path, &st) }); err != nil {
		return vfs.Space{}, pathError("statfs", path, err)
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	space := vfs.Space{
		// Free blocks for users are below zero while the reserve is in use.
		FreeBytes:  max(int64(st.Bavail), 0) * int64(st.Bsize),
		FreeInodes: max(int64(st.Ffree), 0),
		BlockSize:  int64(st.Bsize),
		FSType:     name,
		Network:    uint64(st.Flags)&unix.MNT_LOCAL == 0,
		// APFS shares blocks with its snapshots, and Time Machine makes those.
		CopyOnWrite: name == "zfs" || name == "apfs",
		ReadOnly:    uint64(st.Flags)&unix.MNT_RDONLY != 0,
	}
	if st.Files == 0 {
		space.FreeInodes = -1
	}
	return space, nil
}
