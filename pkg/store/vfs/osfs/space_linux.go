package osfs

import (
	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// kind is what is known of a type of file system.
type kind struct {
	name        string
	network     bool
	copyOnWrite bool
}

// kindOf knows a file system by the magic number of statfs(2). FUSE counts as
// a network: what is behind it is not known.
func kindOf(magic uint32) kind {
	switch magic {
	case unix.EXT4_SUPER_MAGIC: // ext2 and ext3 have the same number and driver
		return kind{name: "ext4"}
	case unix.XFS_SUPER_MAGIC:
		return kind{name: "xfs"}
	case unix.BTRFS_SUPER_MAGIC:
		return kind{name: "btrfs", copyOnWrite: true}
	case zfsMagic:
		return kind{name: "zfs", copyOnWrite: true}
	case unix.BCACHEFS_SUPER_MAGIC:
		return kind{name: "bcachefs", copyOnWrite: true}
	case unix.NILFS_SUPER_MAGIC:
		return kind{name: "nilfs2", copyOnWrite: true}
	case unix.F2FS_SUPER_MAGIC:
		return kind{name: "f2fs", copyOnWrite: true}
	case unix.TMPFS_MAGIC:
		return kind{name: "tmpfs"}
	case unix.RAMFS_MAGIC:
		return kind{name: "ramfs"}
	case unix.OVERLAYFS_SUPER_MAGIC:
		return kind{name: "overlay"}
	case unix.EXFAT_SUPER_MAGIC:
		return kind{name: "exfat"}
	case unix.MSDOS_SUPER_MAGIC:
		return kind{name: "vfat"}
	case ntfs3Magic:
		return kind{name: "ntfs3"}
	case unix.ECRYPTFS_SUPER_MAGIC:
		return kind{name: "ecryptfs"}
	case unix.SQUASHFS_MAGIC:
		return kind{name: "squashfs"}
	}
	return networkKindOf(magic)
}

func networkKindOf(magic uint32) kind {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return kind{name: "nfs", network: true}
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return kind{name: "smb", network: true}
	case unix.V9FS_MAGIC:
		return kind{name: "9p", network: true}
	case unix.CEPH_SUPER_MAGIC:
		return kind{name: "ceph", network: true}
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return kind{name: "afs", network: true}
	case unix.CODA_SUPER_MAGIC:
		return kind{name: "coda", network: true}
	case unix.OCFS2_SUPER_MAGIC:
		return kind{name: "ocfs2", network: true}
	case gfs2Magic:
		return kind{name: "gfs2", network: true}
	case lustreMagic:
		return kind{name: "lustre", network: true}
	case unix.FUSE_SUPER_MAGIC:
		return kind{name: "fuse", network: true}
	}
	return kind{}
}

// Numbers that the system's headers do not name.
const (
	zfsMagic    = 0x2fc12fc1
	ntfs3Magic  = 0x7366746e
	gfs2Magic   = 0x01161970
	lustreMagic = 0x0bd00bd0
)

// Space describes the file system that holds path.
func (FS) Space(path string) (vfs.Space, error) {
	var st unix.Statfs_t
	if err := retryInterrupted(func() error { return unix.Statfs(path, &st) }); err != nil {
		return vfs.Space{}, pathError("statfs", path, err)
	}
	return spaceOf(&st), nil
}

func spaceOf(st *unix.Statfs_t) vfs.Space {
	kind := kindOf(uint32(st.Type))
	unit := st.Frsize
	if unit <= 0 {
		unit = st.Bsize
	}
	space := vfs.Space{
		FreeBytes:   int64(st.Bavail) * unit,
		FreeInodes:  int64(st.Ffree),
		BlockSize:   st.Bsize,
		FSType:      kind.name,
		Network:     kind.network,
		CopyOnWrite: kind.copyOnWrite,
		ReadOnly:    st.Flags&unix.ST_RDONLY != 0,
	}
	if st.Files == 0 { // inodes are made on demand (btrfs), and not counted
		space.FreeInodes = -1
	}
	if st.Blocks == 0 { // no limit but memory (ramfs, tmpfs with size=0)
		space.FreeBytes = -1
	}
	return space
}
