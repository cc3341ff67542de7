package vfs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// NoSpace reports whether err says that bytes, inodes or quota ran out.
func NoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) || errors.Is(err, syscall.ENOSPC)
}

func quota(err error) bool    { return errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) }
func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
