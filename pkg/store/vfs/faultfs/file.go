package faultfs

import (
	"io"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// file is an open file of the wrapped file system.
type file struct {
	fs   *FS
	base vfs.File
	path string
	lock string // the lock that is held, "" without; guarded by fs.mu
}

func (f *file) call(op Op, off, n int64) Call { return Call{Op: op, Path: f.path, Off: off, Len: n} }

// ReadAt does not record io.EOF as an error: it is how a file ends.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	return f.transfer(Read, p, off, f.base.ReadAt)
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	return f.transfer(Write, p, off, f.base.WriteAt)
}

// transfer moves what a fault leaves of p.
func (f *file) transfer(op Op, p []byte, off int64, move func([]byte, int64) (int, error)) (n int, err error) {
	recorded, fault := f.fs.begin(f.call(op, off, int64(len(p))))
	if fault != nil && !fault.After {
		p = p[:min(fault.Short, len(p))]
	}
	if fault == nil || len(p) > 0 {
		n, err = move(p, off)
	}
	if fault != nil {
		err = fault.of(*recorded)
	}
	if err == io.EOF {
		f.fs.end(recorded, nil)
	} else {
		f.fs.end(recorded, err)
	}
	return n, err
}

func (f *file) Sync() error { return f.fs.do(f.call(Sync, 0, 0), f.base.Sync) }

func (f *file) Truncate(size int64) error {
	return f.fs.do(f.call(Truncate, 0, size), func() error { return f.base.Truncate(size) })
}

func (f *file) Stat() (info vfs.Info, err error) {
	err = f.fs.do(f.call(StatFile, 0, 0), func() (err error) {
		info, err = f.base.Stat()
		return err
	})
	return info, err
}

func (f *file) SetSparse() error { return f.fs.do(f.call(SetSparse, 0, 0), f.base.SetSparse) }

func (f *file) PunchHole(off, n int64) error {
	return f.fs.do(f.call(Punch, off, n), func() error { return f.base.PunchHole(off, n) })
}

func (f *file) DropCache(off, n int64) error {
	return f.fs.do(f.call(DropCache, off, n), func() error { return f.base.DropCache(off, n) })
}

func (f *file) TryLock(mode vfs.LockMode) error {
	c := f.call(Lock, 0, 0)
	c.Mode = lockText(mode)
	return f.fs.do(c, func() error {
		err := f.base.TryLock(mode)
		if err == nil {
			f.setLock(c.Mode)
		}
		return err
	})
}

func (f *file) Unlock() error {
	return f.fs.do(f.call(Unlock, 0, 0), func() error {
		err := f.base.Unlock()
		if err == nil {
			f.setLock("")
		}
		return err
	})
}

func (f *file) setLock(lock string) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.lock = lock
}

func (f *file) Map(size int64, keep io.Closer) (m vfs.Mapping, err error) {
	err = f.fs.do(f.call(Map, 0, size), func() (err error) {
		m, err = f.base.Map(size, keep)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.fs.mapped(m, f.path)
	return m, nil
}

// Close closes whatever a fault says, because a failed close closes too.
func (f *file) Close() error {
	recorded, fault := f.fs.begin(f.call(Close, 0, 0))
	err := f.discard()
	if fault != nil {
		err = fault.of(*recorded)
	}
	f.fs.end(recorded, err)
	return err
}

// discard closes the file without a record.
func (f *file) discard() error {
	err := f.base.Close()
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	delete(f.fs.handles, f)
	f.lock = ""
	return err
}
