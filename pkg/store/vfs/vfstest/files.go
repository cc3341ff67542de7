package vfstest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/lace-store/lace/pkg/store/vfs"
)

func openModes(e *env) {
	for _, mode := range []vfs.Mode{vfs.ReadOnly, vfs.ReadWrite} {
		_, err := e.fs.OpenFile(e.at("a"), mode)
		e.is("open of nothing", err, fs.ErrNotExist)
	}
	e.wantAbsent("a")
	e.ok(e.open("a", vfs.ReadWrite|vfs.Create).Close())
	e.wantContents("a", "")
	f := e.open("a", vfs.ReadWrite|vfs.Create)
	_, err := f.WriteAt([]byte("kept"), 0)
	e.ok(err)
	e.ok(f.Close())
	e.ok(e.open("a", vfs.ReadWrite|vfs.Create).Close())
	e.wantContents("a", "kept")
	_, err = e.fs.OpenFile(e.at("a"), vfs.ReadWrite|vfs.Create|vfs.Exclusive)
	e.is("exclusive create over a file", err, fs.ErrExist)
	e.ok(e.open("b", vfs.ReadWrite|vfs.Create|vfs.Exclusive).Close())
}

func openRefusals(e *env) {
	e.ok(e.fs.Mkdir(e.at("dir")))
	for _, mode := range []vfs.Mode{vfs.ReadOnly, vfs.ReadWrite, vfs.ReadWrite | vfs.Create} {
		_, err := e.fs.OpenFile(e.at("dir"), mode)
		e.is("open of a directory", err, vfs.ErrNotRegular)
	}
	_, err := e.fs.OpenFile(e.at("absent", "a"), vfs.ReadWrite|vfs.Create)
	e.is("create in an absent directory", err, fs.ErrNotExist)
	for _, mode := range []vfs.Mode{vfs.Create, vfs.Exclusive, vfs.ReadWrite | vfs.Exclusive} {
		_, err := e.fs.OpenFile(e.at("c"), mode)
		e.is("a mode without sense", err, fs.ErrInvalid)
	}
	e.wantAbsent("c")
	e.write("file", "x")
	_, err = e.fs.OpenFile(e.at("file", "below"), vfs.ReadWrite|vfs.Create)
	e.fails("create below a file", err)
}

func readWrite(e *env) {
	f := e.create("a", "0123456789")
	for _, r := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, 10, "0123456789", nil},
		{3, 4, "3456", nil},
		{8, 5, "89", io.EOF},
		{10, 1, "", io.EOF},
		{99, 1, "", io.EOF},
		{4, 0, "", nil},
	} {
		b := make([]byte, r.n)
		n, err := f.ReadAt(b, r.off)
		if string(b[:n]) != r.want || err != r.err && !(n == r.n && err == io.EOF) {
			e.Errorf("ReadAt(%d bytes, %d) = %q, %v, want %q, %v", r.n, r.off, b[:n], err, r.want, r.err)
		}
	}
	_, err := f.WriteAt([]byte("xyz"), 9000)
	e.ok(err)
	want := "0123456789" + strings.Repeat("\x00", 8990) + "xyz"
	if got := e.contents(f); got != want {
		e.Error("a write past the end must leave zeros between")
	}
	_, err = f.WriteAt([]byte("AB"), 4)
	e.ok(err)
	e.wantContents("a", "0123AB6789"+want[10:])
	_, err = f.WriteAt(nil, 20000)
	e.ok(err)
	e.wantContents("a", "0123AB6789"+want[10:])
	_, err = f.ReadAt(make([]byte, 1), -1)
	e.fails("a read at a negative offset", err)
	_, err = f.WriteAt(make([]byte, 1), -1)
	e.fails("a write at a negative offset", err)

	big := bytes.Repeat([]byte("lace"), 3<<18)
	_, err = f.WriteAt(big, 777)
	e.ok(err)
	got := make([]byte, len(big))
	_, err = f.ReadAt(got, 777)
	if err != nil && err != io.EOF || !bytes.Equal(got, big) {
		e.Errorf("a long write reads back differently (%v)", err)
	}
}

func readOnlyHandle(e *env) {
	e.write("a", "kept")
	f := e.open("a", vfs.ReadOnly)
	_, err := f.WriteAt([]byte("x"), 0)
	e.fails("write", err)
	e.fails("truncate", f.Truncate(0))
	if !e.o.NoPunch {
		e.fails("punch", f.PunchHole(0, 4))
	}
	if got := e.contents(f); got != "kept" {
		e.Errorf("a read-only handle changed the file to %q", got)
	}
}

func closedHandle(e *env) {
	f := e.create("a", "kept")
	e.ok(f.Close())
	_, err := f.ReadAt(make([]byte, 1), 0)
	e.is("read", err, fs.ErrClosed)
	_, err = f.WriteAt([]byte("x"), 0)
	e.is("write", err, fs.ErrClosed)
	_, err = f.Stat()
	e.is("stat", err, fs.ErrClosed)
	_, err = f.Map(1, nil)
	e.is("map", err, fs.ErrClosed)
	e.is("truncate", f.Truncate(0), fs.ErrClosed)
	e.is("sync", f.Sync(), fs.ErrClosed)
	e.is("punch", f.PunchHole(0, 1), fs.ErrClosed)
	e.is("lock", f.TryLock(vfs.Shared), fs.ErrClosed)
	e.is("close", f.Close(), fs.ErrClosed)
	e.wantContents("a", "kept")
}

func truncate(e *env) {
	f := e.create("a", "0123456789")
	e.ok(f.Truncate(4))
	e.wantContents("a", "0123")
	e.ok(f.Truncate(8))
	e.wantContents("a", "0123\x00\x00\x00\x00")
	e.ok(f.Truncate(0))
	e.ok(f.Truncate(3))
	e.wantContents("a", "\x00\x00\x00")
	e.fails("a negative size", f.Truncate(-1))
}

func stat(e *env) {
	f := e.create("a", "12345")
	e.write("b", "")
	opened, err := f.Stat()
	e.ok(err)
	named, err := e.fs.Stat(e.at("a"))
	e.ok(err)
	if opened != named {
		e.Errorf("open and named file differ: %+v, %+v", opened, named)
	}
	if named.Name != "a" || named.Type != vfs.Regular || named.Size != 5 {
		e.Errorf("Stat = %+v", named)
	}
	other, err := e.fs.Stat(e.at("b"))
	e.ok(err)
	if other.FileID == named.FileID || named.FileID == (vfs.FileID{}) {
		e.Errorf("two files have the identities %v and %v", named.FileID, other.FileID)
	}
	dir, err := e.fs.Stat(e.dir)
	e.ok(err)
	if dir.Type != vfs.Directory {
		e.Errorf("Stat of the directory = %+v", dir)
	}
	_, err = e.fs.Stat(e.at("absent"))
	e.is("stat of nothing", err, fs.ErrNotExist)
}

func syncs(e *env) {
	f := e.create("a", "x")
	e.ok(f.Sync())
	e.ok(f.DropCache(0, 1<<20))
	e.ok(f.SetSparse())
	e.ok(e.fs.SyncDir(e.dir))
	e.wantContents("a", "x")
	e.ok(e.fs.Mkdir(e.at("sub")))
	e.ok(e.fs.SyncDir(e.at("sub")))
}

func badRanges(e *env) {
	f := e.create("a", "kept")
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {1 << 62, 1 << 62}} {
		e.is("punch", f.PunchHole(r[0], r[1]), fs.ErrInvalid)
		e.is("drop cache", f.DropCache(r[0], r[1]), fs.ErrInvalid)
	}
	e.wantContents("a", "kept")
}

func space(e *env) {
	e.write("a", "x")
	for _, path := range []string{e.dir, e.at("a")} {
		s, err := e.fs.Space(path)
		e.ok(err)
		if s.FreeBytes == 0 || s.BlockSize <= 0 {
			e.Errorf("Space(%s) = %+v", path, s)
		}
	}
	_, err := e.fs.Space(e.at("absent"))
	e.is("space of nothing", err, fs.ErrNotExist)
}

// errStop is what a writer in these tests fails with.
var errStop = errors.New("stop")

func replace(e *env) {
	put := func(text string, fail error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fail)
		}
	}
	e.ok(vfs.Replace(e.fs, e.dir, "a", put("first", nil)))
	e.wantContents("a", "first")
	e.write("a"+vfs.TempSuffix, "a longer leftover of another run")
	e.ok(vfs.Replace(e.fs, e.dir, "a", put("second", nil)))
	e.wantContents("a", "second")
	e.is("a writer that fails", vfs.Replace(e.fs, e.dir, "a", put("third", errStop)), errStop)
	e.wantContents("a", "second")
	e.wantAbsent("a" + vfs.TempSuffix)
}
