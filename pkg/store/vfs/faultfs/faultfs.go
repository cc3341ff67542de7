package faultfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// FS is a file system that records, fails and counts calls. It may be used by
// several goroutines; their calls are recorded in the order they began.
type FS struct {
	base vfs.FS
	dir  string

	mu         sync.Mutex
	calls      []*Call
	injections []*Injection
	handles    map[*file]struct{}
	mappings   []openMapping
}

var _ vfs.FS = (*FS)(nil)

// New wraps base. Paths in the transcript are relative to dir.
func New(base vfs.FS, dir string) *FS {
	return &FS{base: base, dir: dir, handles: map[*file]struct{}{}}
}

// Unwrap returns the wrapped file system.
func (f *FS) Unwrap() vfs.FS { return f.base }

// Calls returns the calls so far that keep keeps, in order.
func (f *FS) Calls(keep func(Call) bool) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var kept []Call
	for _, c := range f.calls {
		if keep(*c) {
			kept = append(kept, *c)
		}
	}
	return kept
}

// Count is the number of calls so far that keep keeps.
func (f *FS) Count(keep func(Call) bool) int { return len(f.Calls(keep)) }

// Forget empties the transcript. Faults stay as they are.
func (f *FS) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// Transcript is the text of the calls so far that keep keeps, one line each,
// with successive writes that continue each other as one.
func (f *FS) Transcript(keep func(Call) bool) string {
	var b strings.Builder
	for _, c := range mergeWrites(f.Calls(keep)) {
		b.WriteString(c.String() + "\n")
	}
	return b.String()
}

func mergeWrites(calls []Call) []Call {
	merged := make([]Call, 0, len(calls))
	for _, c := range calls {
		last := len(merged) - 1
		if c.Op == Write && last >= 0 && merged[last].Op == Write && merged[last].Path == c.Path &&
			merged[last].Err == nil && merged[last].Off+merged[last].Len == c.Off {
			merged[last].Len += c.Len
			merged[last].Err = c.Err
			continue
		}
		merged = append(merged, c)
	}
	return merged
}

// do records the call and performs it, unless a fault takes its place.
func (f *FS) do(c Call, run func() error) error {
	recorded, fault := f.begin(c)
	var err error
	if fault == nil || fault.After && c.Op != Map {
		err = run()
	}
	if fault != nil { // what the call really returned is hidden
		err = fault.of(c)
	}
	f.end(recorded, err)
	return err
}

// begin records the call and returns the fault that hits it, if any.
func (f *FS) begin(c Call) (*Call, *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	recorded := &c
	f.calls = append(f.calls, recorded)
	var hit *Fault
	for _, injection := range f.injections {
		if injection.hits(c) && hit == nil {
			hit = &injection.fault
		}
	}
	return recorded, hit
}

func (f *FS) end(recorded *Call, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	recorded.Err = err
}

func (f *FS) relative(path string) string {
	if rel, err := filepath.Rel(f.dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// OpenFile opens a regular file of the wrapped file system.
func (f *FS) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	c := Call{Op: Open, Path: f.relative(path), Mode: modeText(mode)}
	if mode&vfs.Create != 0 {
		if _, err := f.base.Stat(path); errors.Is(err, fs.ErrNotExist) {
			c.Op, c.Mode = Create, ""
		}
	}
	var opened *file
	err := f.do(c, func() error {
		base, err := f.base.OpenFile(path, mode)
		if err == nil {
			opened = f.opened(base, c.Path)
		}
		return err
	})
	if err != nil {
		if opened != nil { // a fault after the call: nobody else will close it
			err = errors.Join(err, opened.discard())
		}
		return nil, err
	}
	return opened, nil
}

// Stat describes what is at path itself.
func (f *FS) Stat(path string) (info vfs.Info, err error) {
	err = f.do(Call{Op: Stat, Path: f.relative(path)}, func() (err error) {
		info, err = f.base.Stat(path)
		return err
	})
	return info, err
}

// ReadDir lists a directory.
func (f *FS) ReadDir(path string) (infos []vfs.Info, err error) {
	err = f.do(Call{Op: List, Path: f.relative(path)}, func() (err error) {
		infos, err = f.base.ReadDir(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// Mkdir makes one directory.
func (f *FS) Mkdir(path string) error {
	return f.do(Call{Op: Mkdir, Path: f.relative(path)}, func() error { return f.base.Mkdir(path) })
}

// Remove removes an entry.
func (f *FS) Remove(path string) error {
	return f.do(Call{Op: Remove, Path: f.relative(path)}, func() error { return f.base.Remove(path) })
}

// Rename moves a file.
func (f *FS) Rename(oldPath, newPath string) error {
	return f.do(Call{Op: Rename, Path: f.relative(oldPath), To: f.relative(newPath)},
		func() error { return f.base.Rename(oldPath, newPath) })
}

// SyncDir makes a directory's entries durable.
func (f *FS) SyncDir(path string) error {
	return f.do(Call{Op: SyncDir, Path: f.relative(path)}, func() error { return f.base.SyncDir(path) })
}

// Space describes the file system that holds path.
func (f *FS) Space(path string) (space vfs.Space, err error) {
	err = f.do(Call{Op: Space, Path: f.relative(path)}, func() (err error) {
		space, err = f.base.Space(path)
		return err
	})
	return space, err
}

// Note writes down a change that goes past this file system, right before it is
// made: the commit of a database that opens its file itself. A fault that hits it
// is for the caller to heed.
func (f *FS) Note(op Op, path string) error {
	return f.do(Call{Op: op, Path: f.relative(path)}, func() error { return nil })
}
