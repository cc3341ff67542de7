//go:build linux || darwin || freebsd

package mmap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int64) (base unsafe.Pointer, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	// Shared, so that later positional writes show through the mapping.
	ctlErr := conn.Control(func(fd uintptr) {
		base, err = unix.MmapPtr(int(fd), 0, nil, uintptr(size), unix.PROT_READ, unix.MAP_SHARED)
	})
	if ctlErr != nil {
		return nil, ctlErr
	}
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return base, nil
}

func unmapMemory(base unsafe.Pointer, size int64) error {
	return os.NewSyscallError("munmap", unix.MunmapPtr(base, uintptr(size)))
}
