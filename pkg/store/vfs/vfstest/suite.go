// Package vfstest is the conformance suite of vfs.FS: every implementation and
// every wrapper runs it. It must not know which one it runs, beyond what the
// implementation says that it cannot do.
package vfstest

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Options say what an implementation cannot do.
type Options struct {
	// NoPunch says that PunchHole answers ErrUnsupported.
	NoPunch bool
}

// Run runs the suite. open gives a file system and an empty directory in it,
// for each test anew.
func Run(t *testing.T, open func(t *testing.T) (fsys vfs.FS, dir string), o Options) {
	for _, test := range []struct {
		name string
		run  func(*env)
	}{
		{"open modes", openModes},
		{"open refusals", openRefusals},
		{"positional reads and writes", readWrite},
		{"read-only handles", readOnlyHandle},
		{"closed handles", closedHandle},
		{"truncate", truncate},
		{"stat", stat},
		{"directories", directories},
		{"directory refusals", directoryRefusals},
		{"remove", remove},
		{"rename", rename},
		{"rename refusals", renameRefusals},
		{"sync", syncs},
		{"punch", punch},
		{"punch of a sparse giant", punchGiant},
		{"bad ranges", badRanges},
		{"locks", locks},
		{"locks are never converted", lockConversion},
		{"locks follow the file", lockIdentity},
		{"mapping", mapping},
		{"mapping lifetime", mappingLifetime},
		{"mapping refusals", mappingRefusals},
		{"space", space},
		{"replace", replace},
		{"remove tree", removeTree},
	} {
		t.Run(test.name, func(t *testing.T) {
			fsys, dir := open(t)
			test.run(&env{T: t, fs: fsys, dir: dir, o: o})
		})
	}
}

// env is one test's surroundings.
type env struct {
	*testing.T
	fs  vfs.FS
	dir string
	o   Options
}

func (e *env) at(name ...string) string {
	return filepath.Join(append([]string{e.dir}, name...)...)
}

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// is fails the test unless err matches want.
func (e *env) is(what string, err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// fails fails the test unless there is an error, whichever.
func (e *env) fails(what string, err error) {
	e.Helper()
	if err == nil {
		e.Errorf("%s: no error", what)
	}
}

func (e *env) open(name string, mode vfs.Mode) vfs.File {
	e.Helper()
	f, err := e.fs.OpenFile(e.at(name), mode)
	e.ok(err)
	e.Cleanup(func() { f.Close() })
	return f
}

func (e *env) create(name, content string) vfs.File {
	e.Helper()
	f := e.open(name, vfs.ReadWrite|vfs.Create|vfs.Exclusive)
	n, err := f.WriteAt([]byte(content), 0)
	e.ok(err)
	if n != len(content) {
		e.Fatalf("wrote %d of %d bytes", n, len(content))
	}
	return f
}

// write makes a file and closes it.
func (e *env) write(name, content string) {
	e.Helper()
	e.ok(e.create(name, content).Close())
}

// contents reads a whole open file.
func (e *env) contents(f vfs.File) string {
	e.Helper()
	info, err := f.Stat()
	e.ok(err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size))
	e.ok(err)
	return string(b)
}

func (e *env) wantContents(name, want string) {
	e.Helper()
	f := e.open(name, vfs.ReadOnly)
	if got := e.contents(f); got != want {
		e.Errorf("%s holds %q, want %q", name, got, want)
	}
	e.ok(f.Close())
}

func (e *env) wantAbsent(name string) {
	e.Helper()
	_, err := e.fs.Stat(e.at(name))
	e.is("stat "+name, err, fs.ErrNotExist)
}

// collect runs the garbage collector until m is released, for a while.
func collect(m vfs.Mapping) bool {
	for range 100 {
		runtime.GC()
		select {
		case <-m.Released():
			return true
		case <-time.After(5 * time.Millisecond):
		}
	}
	return false
}

func isReleased(m vfs.Mapping) bool {
	select {
	case <-m.Released():
		return true
	default:
		return false
	}
}
