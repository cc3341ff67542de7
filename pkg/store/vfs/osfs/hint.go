//go:build linux || darwin || freebsd || windows

package osfs

import "github.com/lace-store/lace/pkg/store/vfs"

var _ vfs.Hinter = (*file)(nil)

// StartWriteBack implements vfs.Hinter. That the advice is refused changes
// nothing, and a failed write-back is told by the next sync.
func (f *file) StartWriteBack(off, n int64) {
	if n > 0 {
		_ = f.conn.Control(func(handle uintptr) { startWriteBack(handle, off, n) })
	}
}

// ReadAhead implements vfs.Hinter.
func (f *file) ReadAhead(off, n int64) {
	if n > 0 {
		_ = f.conn.Control(func(handle uintptr) { readAhead(handle, off, n) })
	}
}
