package mmap

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapFile(f *os.File, size int64) (base unsafe.Pointer, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	ctlErr := conn.Control(func(fd uintptr) { base, err = mapHandle(windows.Handle(fd), size) })
	if ctlErr != nil {
		return nil, ctlErr
	}
	return base, err
}

func mapHandle(file windows.Handle, size int64) (unsafe.Pointer, error) {
	section, err := windows.CreateFileMapping(file, nil, windows.PAGE_READONLY,
		uint32(size>>32), uint32(size), nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	addr, err := windows.MapViewOfFile(section, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	// The view keeps the section alive; its handle has served.
	closeErr := os.NewSyscallError("CloseHandle", windows.CloseHandle(section))
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("MapViewOfFile", err), closeErr)
	}
	// addr is memory of the system, not of the Go heap: reading the variable as
	// a pointer is a plain conversion that the collector never looks at.
	base := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	if closeErr != nil {
		return nil, errors.Join(closeErr, unmapMemory(base, size))
	}
	return base, nil
}

func unmapMemory(base unsafe.Pointer, _ int64) error {
	return os.NewSyscallError("UnmapViewOfFile", windows.UnmapViewOfFile(uintptr(base)))
}
