package compacttest

import (
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// Step is a call that a mutant may tamper with.
type Step struct {
	Op   faultfs.Op
	Name string // relative to Dir; of a rename the new name
	Data []byte // of a write, at offset Off
	Off  int64
}

// Is says whether the step is that verb on that entry.
func (s Step) Is(op faultfs.Op, name string) bool { return s.Op == op && s.Name == name }

// Tamperer performs, leaves out, delays or doubles the calls of one run; do
// performs the call as it is.
type Tamperer func(s Step, do func() error) error

// Tamper is base with every changing call, and every close, through t. The
// calls that t makes on base itself do not come back to it.
func Tamper(base vfs.FS, t Tamperer) vfs.FS { return &tampered{FS: base, tamper: t} }

type tampered struct {
	vfs.FS
	tamper Tamperer
	// view, unless nil, may show a file that was opened as another.
	view func(name string, f vfs.File) (vfs.File, error)
}

// Unwrap returns the file system that is tampered with.
func (t *tampered) Unwrap() vfs.FS { return t.FS }

func relative(path string) string {
	name, err := filepath.Rel(Dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

func (t *tampered) Remove(path string) error {
	return t.tamper(Step{Op: faultfs.Remove, Name: relative(path)}, func() error { return t.FS.Remove(path) })
}

func (t *tampered) Rename(oldPath, newPath string) error {
	return t.tamper(Step{Op: faultfs.Rename, Name: relative(newPath)}, func() error { return t.FS.Rename(oldPath, newPath) })
}

func (t *tampered) SyncDir(path string) error {
	return t.tamper(Step{Op: faultfs.SyncDir, Name: relative(path)}, func() error { return t.FS.SyncDir(path) })
}

func (t *tampered) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := t.FS.OpenFile(path, mode)
	if err != nil {
		return nil, err
	}
	name := relative(path)
	if t.view != nil {
		if f, err = t.view(name, f); err != nil {
			return nil, err
		}
	}
	return &tamperedFile{f, t, name}, nil
}

type tamperedFile struct {
	vfs.File
	fs   *tampered
	name string
}

func (f *tamperedFile) call(op faultfs.Op, do func() error) error {
	return f.fs.tamper(Step{Op: op, Name: f.name}, do)
}

func (f *tamperedFile) Sync() error  { return f.call(faultfs.Sync, f.File.Sync) }
func (f *tamperedFile) Close() error { return f.call(faultfs.Close, f.File.Close) }

func (f *tamperedFile) Truncate(size int64) error {
	return f.call(faultfs.Truncate, func() error { return f.File.Truncate(size) })
}

func (f *tamperedFile) PunchHole(off, n int64) error {
	return f.call(faultfs.Punch, func() error { return f.File.PunchHole(off, n) })
}

// WriteAt reports the whole of p as written when the tamperer says so.
func (f *tamperedFile) WriteAt(p []byte, off int64) (n int, err error) {
	n = len(p)
	err = f.fs.tamper(Step{Op: faultfs.Write, Name: f.name, Data: p, Off: off}, func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}
