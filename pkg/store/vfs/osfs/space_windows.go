package osfs

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// clusterBytes is the default cluster of NTFS, the unit in which it allocates.
const clusterBytes = 4096

// Space describes the file system that holds path.
func (f FS) Space(path string) (vfs.Space, error) {
	info, err := f.Stat(path)
	if err != nil {
		return vfs.Space{}, err
	}
	if info.Type != vfs.Directory {
		path = filepath.Dir(path)
	}
	dir, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return vfs.Space{}, pathError("space", path, err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(dir, &free, nil, nil); err != nil {
		return vfs.Space{}, pathError("space", path, err)
	}
	root := make([]uint16, windows.MAX_LONG_PATH)
	if err := windows.GetVolumePathName(dir, &root[0], uint32(len(root))); err != nil {
		return vfs.Space{}, pathError("space", path, err)
	}
	var name [windows.MAX_PATH + 1]uint16
	var flags uint32
	err = windows.GetVolumeInformation(&root[0], nil, 0, nil, nil, &flags, &name[0], uint32(len(name)))
	if err != nil {
		return vfs.Space{}, pathError("space", path, err)
	}
	fsType := strings.ToLower(windows.UTF16ToString(name[:]))
	return vfs.Space{
		FreeBytes:   int64(free),
		FreeInodes:  -1,
		BlockSize:   clusterBytes,
		FSType:      fsType,
		Network:     windows.GetDriveType(&root[0]) == windows.DRIVE_REMOTE,
		CopyOnWrite: fsType == "refs",
		ReadOnly:    flags&windows.FILE_READ_ONLY_VOLUME != 0,
	}, nil
}
