package osfs

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

var errNotSparse = errors.New("the file is not marked sparse")

// zeroDataInformation is FILE_ZERO_DATA_INFORMATION: [FileOffset, BeyondFinalZero).
type zeroDataInformation struct{ fileOffset, beyondFinalZero int64 }

// punchHole frees with FSCTL_SET_ZERO_DATA. On a file that is not sparse that
// call would write zeros instead of freeing anything.
func punchHole(handle uintptr, off, n int64) error {
	var data windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(handle), &data); err != nil {
		return err
	}
	if data.FileAttributes&windows.FILE_ATTRIBUTE_SPARSE_FILE == 0 {
		return unsupported(errNotSparse)
	}
	size := int64(data.FileSizeHigh)<<32 | int64(data.FileSizeLow)
	zero := zeroDataInformation{fileOffset: off, beyondFinalZero: min(off+n, size)}
	if zero.fileOffset >= zero.beyondFinalZero {
		return nil
	}
	return deviceControl(handle, windows.FSCTL_SET_ZERO_DATA, unsafe.Pointer(&zero), unsafe.Sizeof(zero))
}
