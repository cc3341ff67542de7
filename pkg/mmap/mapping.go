//go:build linux || darwin || freebsd || windows

package mmap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Mapping is a read-only view of the first bytes of a file. Its methods may be
// called concurrently, but View must not follow Release.
type Mapping struct {
	region *region
	owner  atomic.Pointer[owner] // nil once released
	use    atomic.Uint32         // one of the use values below
}

// The states of Mapping.use. They are left only once, so that Release may
// unmap at once when no view was ever given, and only then.
const (
	unviewed uint32 = iota
	viewed
	releasedUnviewed
)

// owner is the object whose reachability keeps the memory mapped. Nothing that
// its cleanup uses may lead back to it, or it would never become unreachable.
type owner struct{ region *region }

// region is the mapped memory and what is closed after it.
type region struct {
	base     unsafe.Pointer // nil when size is 0
	size     int64
	keep     io.Closer
	once     sync.Once
	err      error // set before released is closed
	released chan struct{}
}

// File maps the first size bytes of f read-only. f may be closed afterwards.
// keep may be nil; it is closed after the memory is unmapped. When File fails,
// keep is left open and stays the caller's. The file must be at least size
// bytes long, because memory past its end cannot be read.
func File(f *os.File, size int64, keep io.Closer) (*Mapping, error) {
	if size < 0 || size != int64(int(size)) {
		return nil, fmt.Errorf("map %s: impossible size of %d bytes", f.Name(), size)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	if info.Size() < size {
		return nil, fmt.Errorf("map %s: want %d bytes, the file has %d: %w",
			f.Name(), size, info.Size(), io.ErrUnexpectedEOF)
	}
	r := &region{size: size, keep: keep, released: make(chan struct{})}
	if size > 0 { // no system maps nothing
		if r.base, err = mapFile(f, size); err != nil {
			return nil, fmt.Errorf("map %d bytes of %s: %w", size, f.Name(), err)
		}
	}
	m := &Mapping{region: r}
	o := &owner{region: r}
	runtime.AddCleanup(o, (*region).unmap, r)
	m.owner.Store(o)
	return m, nil
}

// Size is the length of the mapping in bytes.
func (m *Mapping) Size() int64 { return m.region.size }

// View returns the bytes [off, off+n) and the owner that keeps them valid:
// they may be read only while owner is reachable. A range outside the mapping
// and a released mapping are bugs of the caller, and panic.
func (m *Mapping) View(off int64, n int) (b []byte, held any) {
	r := m.region
	if off < 0 || n < 0 || off > r.size || int64(n) > r.size-off {
		panic(fmt.Sprintf("mmap: view of %d bytes at %d of a mapping of %d bytes", n, off, r.size))
	}
	o := m.owner.Load()
	if o == nil || !m.markViewed() {
		panic("mmap: view of a released mapping")
	}
	if n == 0 {
		return nil, o
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.base, off)), n), o
}

// markViewed records that an owner has been given out, and says whether that
// is still allowed.
func (m *Mapping) markViewed() bool {
	if m.use.Load() == viewed {
		return true
	}
	return m.use.CompareAndSwap(unviewed, viewed) || m.use.Load() == viewed
}

// Release gives up the holder's own reference. A mapping that never gave a
// view is unmapped before Release returns; any other one after its last owner
// has become unreachable. Further calls do nothing.
func (m *Mapping) Release() {
	if m.owner.Swap(nil) == nil {
		return
	}
	if m.use.CompareAndSwap(unviewed, releasedUnviewed) {
		m.region.unmap()
	}
}

// Released is closed after the memory is unmapped and keep is closed.
func (m *Mapping) Released() <-chan struct{} { return m.region.released }

// Err is what unmapping the memory or closing keep reported. It is nil before
// Released is closed.
func (m *Mapping) Err() error {
	select {
	case <-m.region.released:
		return m.region.err
	default:
		return nil
	}
}

// unmap frees the memory first, so that keep (a lock, say) is let go only when
// nothing can see the file through this mapping any more.
func (r *region) unmap() {
	r.once.Do(func() {
		if r.base != nil {
			r.err = unmapMemory(r.base, r.size)
			r.base = nil
		}
		if r.keep != nil {
			r.err = errors.Join(r.err, r.keep.Close())
		}
		close(r.released)
	})
}
