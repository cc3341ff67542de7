//go:build linux || freebsd

package osfs

import "golang.org/x/sys/unix"

func syncHandle(handle uintptr) error { return unix.Fsync(int(handle)) }
