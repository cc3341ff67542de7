//go:build unix

package vfs

import (
	"errors"
	"syscall"
)

// NoSpace reports whether err says that bytes, inodes or quota ran out.
func NoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func quota(err error) bool    { return errors.Is(err, syscall.EDQUOT) }
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
