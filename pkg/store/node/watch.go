package node

import (
	"io/fs"
	"sync"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// watched passes every call on, and notes the first close that failed: what
// became of such a file is not known, and the sentinel has to stay (seed 002).
type watched struct {
	vfs.FS
	mu     sync.Mutex
	failed error
}

// Unwrap returns the file system below.
func (w *watched) Unwrap() vfs.FS { return w.FS }

// OpenFile implements vfs.FS.
func (w *watched) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := w.FS.OpenFile(path, mode)
	if err != nil {
		return nil, err
	}
	return &watchedFile{File: f, watch: w}, nil
}

// closeError is the first close that failed, nil when none did.
func (w *watched) closeError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

type watchedFile struct {
	vfs.File
	watch *watched
}

// Close implements vfs.File.
func (f *watchedFile) Close() error {
	err := f.File.Close()
	if err == nil {
		return nil
	}
	f.watch.mu.Lock()
	defer f.watch.mu.Unlock()
	if f.watch.failed == nil {
		f.watch.failed = err
		if p, ok := err.(*fs.PathError); ok {
			f.watch.failed = p.Err // as root.IOError passes it on
		}
	}
	return err
}

// StartWriteBack implements vfs.Hinter.
func (f *watchedFile) StartWriteBack(off, n int64) { vfs.StartWriteBack(f.File, off, n) }

// ReadAhead implements vfs.Hinter.
func (f *watchedFile) ReadAhead(off, n int64) { vfs.ReadAhead(f.File, off, n) }
