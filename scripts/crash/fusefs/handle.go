//go:build linux

package fusefs

import (
	"context"
	"errors"
	"io"
	"syscall"

	fusenodes "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// handle is an open file.
type handle struct{ file vfs.File }

var (
	_ fusenodes.FileReader    = (*handle)(nil)
	_ fusenodes.FileWriter    = (*handle)(nil)
	_ fusenodes.FileAllocater = (*handle)(nil)
	_ fusenodes.FileReleaser  = (*handle)(nil)
)

func (h *handle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.file.ReadAt(dest, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return fuse.ReadResultData(dest[:n]), errno(err)
}

func (h *handle) Write(_ context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	n, err := h.file.WriteAt(data, off)
	if n > 0 { // the kernel asks for the rest, and is told the error then
		return uint32(n), 0
	}
	return 0, errno(err)
}

// Allocate punches holes and does nothing else.
func (h *handle) Allocate(_ context.Context, off, size uint64, mode uint32) syscall.Errno {
	if mode != unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE {
		return syscall.EOPNOTSUPP
	}
	return errno(h.file.PunchHole(int64(off), int64(size)))
}

func (h *handle) Release(context.Context) syscall.Errno { return errno(h.file.Close()) }
