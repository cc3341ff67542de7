package osfs

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// setSparse marks the file sparse. Without that mark, sizing an arena would
// allocate all of it.
func setSparse(handle uintptr) error { return deviceControl(handle, windows.FSCTL_SET_SPARSE, nil, 0) }

// deviceControl runs one control code, which a file system may not know.
func deviceControl(handle uintptr, code uint32, in unsafe.Pointer, size uintptr) error {
	var returned uint32
	err := windows.DeviceIoControl(windows.Handle(handle), code, (*byte)(in), uint32(size), nil, 0, &returned, nil)
	if err == windows.ERROR_INVALID_FUNCTION || err == windows.ERROR_NOT_SUPPORTED {
		return unsupported(err)
	}
	return err
}
