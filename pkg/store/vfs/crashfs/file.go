package crashfs

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"syscall"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// OpenFile opens a regular file.
func (f *FS) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check("open", path); err != nil {
		return nil, err
	}
	if mode&vfs.Create != 0 && mode&vfs.ReadWrite == 0 || mode&vfs.Exclusive != 0 && mode&vfs.Create == 0 {
		return nil, pathError("open", path, fs.ErrInvalid)
	}
	if clean(path) == "/" {
		return nil, pathError("open", path, vfs.ErrNotRegular)
	}
	dir, name, n, err := f.find("open", path)
	if err != nil {
		return nil, err
	}
	switch {
	case n == nil && mode&vfs.Create == 0:
		return nil, pathError("open", path, syscall.ENOENT)
	case n == nil:
		err := f.change("create", path, func() {
			n = f.newInode(vfs.Regular, name)
			f.link(dir, name, n)
		})
		if err != nil {
			return nil, err
		}
	case mode&vfs.Exclusive != 0:
		return nil, pathError("open", path, syscall.EEXIST)
	case n.kind != vfs.Regular:
		return nil, pathError("open", path, vfs.ErrNotRegular)
	}
	f.opens[n]++
	return &file{fs: f, node: n, path: path, name: name, writable: mode&vfs.ReadWrite != 0}, nil
}

// file is an open file. Its fields are guarded by fs.mu.
type file struct {
	fs       *FS
	node     *inode
	path     string
	name     string
	writable bool
	closed   bool
}

// enter locks the file system and checks that the handle may be used. Whatever
// it returns, the caller unlocks.
func (h *file) enter(op string, writing bool) error {
	h.fs.mu.Lock()
	if err := h.fs.check(op, h.path); err != nil {
		return err
	}
	if h.closed {
		return pathError(op, h.path, fs.ErrClosed)
	}
	if writing && !h.writable {
		return pathError(op, h.path, syscall.EBADF)
	}
	return nil
}

func (h *file) leave() { h.fs.mu.Unlock() }

func (h *file) ReadAt(p []byte, off int64) (int, error) {
	defer h.leave()
	if err := h.enter("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", h.path, syscall.EINVAL)
	}
	n := int(min(int64(len(p)), max(h.node.cache.size-off, 0)))
	h.node.cache.read(p[:n], off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *file) WriteAt(p []byte, off int64) (int, error) {
	defer h.leave()
	if err := h.enter("write", true); err != nil {
		return 0, err
	}
	if off < 0 || off > math.MaxInt64-int64(len(p)) {
		return 0, pathError("write", h.path, syscall.EINVAL)
	}
	if len(p) == 0 {
		return 0, nil
	}
	fitting := p[:h.fits(len(p), off)]
	if len(fitting) > 0 {
		if err := h.fs.change("write", h.path, func() { h.write(fitting, off) }); err != nil {
			return 0, err
		}
	}
	if len(fitting) < len(p) {
		return len(fitting), pathError("write", h.path, syscall.ENOSPC)
	}
	return len(p), nil
}

func (h *file) write(p []byte, off int64) {
	c := change{kind: written, off: off, n: int64(len(p)), versions: h.node.cache.written(p, off)}
	if end := off + int64(len(p)); end > h.node.cache.size {
		c.sized, c.size = true, end
	}
	h.node.apply(c)
}

// fits is how many of n bytes at off there is storage for.
func (h *file) fits(n int, off int64) int {
	limit := h.fs.options.FreeBytes
	if limit == 0 {
		return n
	}
	free := (limit - h.fs.used()) / sectorBytes
	for at := off; at < off+int64(n); at = (at/sectorBytes + 1) * sectorBytes {
		if h.node.cache.sectors.m[at/sectorBytes] != nil {
			continue
		}
		if free <= 0 {
			return int(at - off)
		}
		free--
	}
	return n
}

func (h *file) Truncate(size int64) error {
	defer h.leave()
	if err := h.enter("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", h.path, syscall.EINVAL)
	}
	return h.fs.change("truncate", h.path, func() {
		h.node.apply(change{kind: truncated, sized: true, size: size})
	})
}

func (h *file) PunchHole(off, n int64) error {
	defer h.leave()
	if err := h.enter("punch", true); err != nil {
		return err
	}
	if err := checkRange("punch", h.path, off, n); err != nil || n == 0 {
		return err
	}
	if h.fs.options.NoPunch {
		return pathError("punch", h.path, fmt.Errorf("%w: %w", vfs.ErrUnsupported, syscall.EOPNOTSUPP))
	}
	return h.fs.change("punch", h.path, func() {
		h.node.apply(change{kind: punched, off: off, n: n, versions: h.node.cache.zeroed(off, off+n)})
	})
}

func (h *file) Sync() error {
	defer h.leave()
	if err := h.enter("sync", false); err != nil {
		return err
	}
	return h.fs.sync("sync", h.path, h.node)
}

func (h *file) DropCache(off, n int64) error {
	defer h.leave()
	if err := h.enter("drop cache", false); err != nil {
		return err
	}
	if err := checkRange("drop cache", h.path, off, n); err != nil {
		return err
	}
	if !h.fs.options.IgnoreDropCache {
		h.node.forget(func(index int64) bool {
			return index*sectorBytes >= off && (index+1)*sectorBytes <= off+n
		})
	}
	return nil
}

func (h *file) Stat() (vfs.Info, error) {
	defer h.leave()
	if err := h.enter("stat", false); err != nil {
		return vfs.Info{}, err
	}
	return h.node.info(h.name), nil
}

func (h *file) SetSparse() error {
	defer h.leave()
	return h.enter("set sparse", true)
}

// Close gives the lock back and makes nothing durable.
func (h *file) Close() error {
	defer h.leave()
	if err := h.enter("close", false); err != nil {
		return err
	}
	h.closed = true
	h.unlock()
	if h.fs.opens[h.node]--; h.fs.opens[h.node] == 0 {
		delete(h.fs.opens, h.node)
	}
	return nil
}

// checkRange refuses a byte range that no file can have.
func checkRange(op, path string, off, n int64) error {
	if off < 0 || n < 0 || off > math.MaxInt64-n {
		return pathError(op, path, fmt.Errorf("range of %d bytes at %d: %w", n, off, fs.ErrInvalid))
	}
	return nil
}
