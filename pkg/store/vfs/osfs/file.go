//go:build linux || darwin || freebsd || windows

package osfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// file is an open regular file. The os.File continues interrupted and short
// reads and writes; every other call goes to the system itself, once.
type file struct {
	os   *os.File
	conn syscall.RawConn
	path string

	mu     sync.Mutex
	locked bool
}

func (f *file) ReadAt(p []byte, off int64) (int, error)  { return f.os.ReadAt(p, off) }
func (f *file) WriteAt(p []byte, off int64) (int, error) { return f.os.WriteAt(p, off) }
func (f *file) Truncate(size int64) error                { return f.os.Truncate(size) }

// Sync is one system call. It is not repeated even when it was interrupted:
// the kernel reports a failed write-back once, and a second call would hide it.
func (f *file) Sync() error { return f.control("sync", syncHandle) }

func (f *file) Stat() (vfs.Info, error) {
	var info vfs.Info
	err := f.control("stat", func(handle uintptr) (err error) {
		info, err = statHandle(handle)
		return err
	})
	info.Name = baseName(f.path)
	return info, err
}

func (f *file) SetSparse() error { return f.control("set sparse", setSparse) }

func (f *file) PunchHole(off, n int64) error {
	if err := checkRange("punch hole", f.path, off, n); err != nil || n == 0 {
		return err
	}
	return f.control("punch hole", func(handle uintptr) error { return punchHole(handle, off, n) })
}

func (f *file) DropCache(off, n int64) error {
	if err := checkRange("drop cache", f.path, off, n); err != nil || n == 0 {
		return err
	}
	return f.control("drop cache", func(handle uintptr) error { return dropCache(handle, off, n) })
}

func (f *file) TryLock(mode vfs.LockMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locked {
		return pathError("lock", f.path, vfs.ErrLockHeld)
	}
	err := f.control("lock", func(handle uintptr) error { return tryLock(handle, mode) })
	f.locked = err == nil
	return err
}

func (f *file) Unlock() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.locked {
		return nil
	}
	err := f.control("unlock", unlock)
	f.locked = err != nil
	return err
}

// Close unlocks first: a copy of the descriptor in a forked child would keep
// the lock otherwise (seed 002).
func (f *file) Close() error { return errors.Join(f.Unlock(), f.os.Close()) }

func (f *file) Map(size int64, keep io.Closer) (vfs.Mapping, error) {
	m, err := mmap.File(f.os, size, keep)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// control runs call on the open handle, which stays open meanwhile.
func (f *file) control(op string, call func(handle uintptr) error) error {
	var err error
	if f.conn.Control(func(handle uintptr) { err = call(handle) }) != nil {
		err = fs.ErrClosed // the one reason why there is no handle
	}
	if err != nil {
		return pathError(op, f.path, err)
	}
	return nil
}
