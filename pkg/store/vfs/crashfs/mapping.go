package crashfs

import (
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Map gives views that are copies of what the file holds when they are taken.
func (h *file) Map(size int64, keep io.Closer) (vfs.Mapping, error) {
	defer h.leave()
	if err := h.enter("map", false); err != nil {
		return nil, err
	}
	if size < 0 || size > h.node.cache.size {
		return nil, pathError("map", h.path, fmt.Errorf("want %d bytes, the file has %d: %w",
			size, h.node.cache.size, io.ErrUnexpectedEOF))
	}
	r := &release{keep: keep, done: make(chan struct{})}
	m := &mapping{fs: h.fs, node: h.node, size: size, release: r, owner: &owner{release: r}}
	runtime.AddCleanup(m.owner, (*release).run, r)
	return m, nil
}

// mapping lives like one of package mmap: until it is released and no owner of
// a view is reachable.
type mapping struct {
	fs      *FS
	node    *inode
	size    int64
	release *release

	mu     sync.Mutex
	owner  *owner // nil once released
	viewed bool
}

type owner struct{ release *release }

// release is what happens at the end, once.
type release struct {
	once sync.Once
	keep io.Closer
	done chan struct{}
}

func (r *release) run() {
	r.once.Do(func() {
		if r.keep != nil {
			// A keep of a machine that has crashed cannot be closed, and vfs has
			// no place to say so.
			_ = r.keep.Close()
		}
		close(r.done)
	})
}

func (m *mapping) View(off int64, n int) (b []byte, held any) {
	if off < 0 || n < 0 || off > m.size || int64(n) > m.size-off {
		panic(fmt.Sprintf("crashfs: view of %d bytes at %d of a mapping of %d bytes", n, off, m.size))
	}
	m.mu.Lock()
	o := m.owner
	m.viewed = true
	m.mu.Unlock()
	if o == nil {
		panic("crashfs: view of a released mapping")
	}
	m.fs.mu.Lock()
	defer m.fs.mu.Unlock()
	b = make([]byte, n)
	m.node.cache.read(b, off)
	return b, o
}

func (m *mapping) Release() {
	m.mu.Lock()
	released := m.owner == nil
	atOnce := m.fs.options.ReleaseAtOnce || !m.viewed
	m.owner = nil
	m.mu.Unlock()
	if !released && atOnce {
		m.release.run()
	}
}

func (m *mapping) Released() <-chan struct{} { return m.release.done }
