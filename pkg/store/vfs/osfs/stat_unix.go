//go:build linux || darwin || freebsd

package osfs

import (
	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// statBlockBytes is the unit of st_blocks.
const statBlockBytes = 512

// Stat describes what is at path itself, by lstat.
func (FS) Stat(path string) (vfs.Info, error) {
	var st unix.Stat_t
	if err := retryInterrupted(func() error { return unix.Lstat(path, &st) }); err != nil {
		return vfs.Info{}, pathError("stat", path, err)
	}
	info := infoOf(&st)
	info.Name = baseName(path)
	return info, nil
}

func statHandle(handle uintptr) (vfs.Info, error) {
	var st unix.Stat_t
	if err := retryInterrupted(func() error { return unix.Fstat(int(handle), &st) }); err != nil {
		return vfs.Info{}, err
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) vfs.Info {
	info := vfs.Info{
		Type:      vfs.Other,
		Size:      st.Size,
		Allocated: st.Blocks * statBlockBytes,
		FileID:    vfs.FileID{Device: uint64(st.Dev), Inode: st.Ino},
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		info.Type = vfs.Regular
	case unix.S_IFDIR:
		info.Type = vfs.Directory
	case unix.S_IFLNK:
		info.Type = vfs.Symlink
	}
	return info
}

// retryInterrupted repeats a call that a signal interrupted before it did
// anything. It is for calls that may be repeated without harm only.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
