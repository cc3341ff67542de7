package osfs

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Stat describes what is at path itself, never the target of a link.
func (FS) Stat(path string) (info vfs.Info, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return vfs.Info{}, pathError("stat", path, err)
	}
	handle, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES, shareAll, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return vfs.Info{}, pathError("stat", path, err)
	}
	info, err = statHandle(uintptr(handle))
	if err := errors.Join(err, windows.CloseHandle(handle)); err != nil {
		return vfs.Info{}, pathError("stat", path, err)
	}
	info.Name = baseName(path)
	return info, nil
}

// compressionInfo is FILE_COMPRESSION_INFO. Its first field is the storage in
// use, for sparse and for compressed files, as GetCompressedFileSize tells it.
type compressionInfo struct {
	compressedFileSize int64
	format             uint16
	shifts             [3]uint8
	reserved           [3]uint8
}

func statHandle(handle uintptr) (vfs.Info, error) {
	var data windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(handle), &data); err != nil {
		return vfs.Info{}, err
	}
	info := vfs.Info{
		Type: vfs.Regular,
		Size: int64(data.FileSizeHigh)<<32 | int64(data.FileSizeLow),
		FileID: vfs.FileID{
			Device: uint64(data.VolumeSerialNumber),
			Inode:  uint64(data.FileIndexHigh)<<32 | uint64(data.FileIndexLow),
		},
	}
	switch attributes := data.FileAttributes; {
	case attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		info.Type = vfs.Symlink
	case attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		info.Type = vfs.Directory
	case attributes&windows.FILE_ATTRIBUTE_DEVICE != 0:
		info.Type = vfs.Other
	}
	if info.Type != vfs.Regular {
		return info, nil
	}
	var storage compressionInfo
	err := windows.GetFileInformationByHandleEx(windows.Handle(handle), windows.FileCompressionInfo,
		(*byte)(unsafe.Pointer(&storage)), uint32(unsafe.Sizeof(storage)))
	if err != nil { // FAT and some network drives do not tell; they have no holes either
		storage.compressedFileSize = info.Size
	}
	info.Allocated = storage.compressedFileSize
	return info, nil
}
