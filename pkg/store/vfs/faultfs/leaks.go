package faultfs

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// openMapping is what is kept of a mapping. It must not keep the mapping
// itself alive, or it would never be released.
type openMapping struct {
	path     string
	released <-chan struct{}
}

func (f *FS) opened(base vfs.File, path string) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	handle := &file{fs: f, base: base, path: path}
	f.handles[handle] = struct{}{}
	return handle
}

func (f *FS) mapped(m vfs.Mapping, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mappings = append(f.mappings, openMapping{path: path, released: m.Released()})
}

// OpenHandles is the number of files open now.
func (f *FS) OpenHandles() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.handles)
}

// HeldLocks is the number of locks held now.
func (f *FS) HeldLocks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := 0
	for handle := range f.handles {
		if handle.lock != "" {
			held++
		}
	}
	return held
}

// LiveMappings is the number of mappings not released yet. A mapping that gave
// out views counts until the garbage collector has seen the last owner go.
func (f *FS) LiveMappings() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mappings = slices.DeleteFunc(f.mappings, func(m openMapping) bool {
		select {
		case <-m.released:
			return true
		default:
			return false
		}
	})
	return len(f.mappings)
}

// Leaks describes every open file, with its lock, and every live mapping, in
// order of the text. A test that ends clean has none.
func (f *FS) Leaks() []string {
	f.LiveMappings() // forgets the released ones
	f.mu.Lock()
	defer f.mu.Unlock()
	var leaks []string
	for handle := range f.handles {
		text := "open " + handle.path
		if handle.lock != "" {
			text += fmt.Sprintf(" with its %s lock", handle.lock)
		}
		leaks = append(leaks, text)
	}
	for _, m := range f.mappings {
		leaks = append(leaks, "mapped "+m.path)
	}
	slices.Sort(leaks)
	return leaks
}
