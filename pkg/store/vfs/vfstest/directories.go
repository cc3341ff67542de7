package vfstest

import (
	"io/fs"

	"github.com/lace-store/lace/pkg/store/vfs"
)

func directories(e *env) {
	entries, err := e.fs.ReadDir(e.dir)
	e.ok(err)
	if len(entries) != 0 {
		e.Fatalf("the directory is not empty: %v", entries)
	}
	e.write("b", "22")
	e.ok(e.fs.Mkdir(e.at("a")))
	e.write("c", "")
	e.write("a.z", "1")
	entries, err = e.fs.ReadDir(e.dir)
	e.ok(err)
	want := []string{"a", "a.z", "b", "c"}
	if len(entries) != len(want) {
		e.Fatalf("%d entries, want %d", len(entries), len(want))
	}
	for i, entry := range entries {
		named, err := e.fs.Stat(e.at(want[i]))
		e.ok(err)
		if entry != named || entry.Name != want[i] {
			e.Errorf("entry %d is %+v, Stat says %+v", i, entry, named)
		}
	}
}

func directoryRefusals(e *env) {
	e.write("file", "")
	_, err := e.fs.ReadDir(e.at("absent"))
	e.is("list nothing", err, fs.ErrNotExist)
	_, err = e.fs.ReadDir(e.at("file"))
	e.fails("list a file", err)
	e.is("make over a file", e.fs.Mkdir(e.at("file")), fs.ErrExist)
	e.ok(e.fs.Mkdir(e.at("dir")))
	e.is("make over a directory", e.fs.Mkdir(e.at("dir")), fs.ErrExist)
	e.is("make below nothing", e.fs.Mkdir(e.at("absent", "dir")), fs.ErrNotExist)
}

func remove(e *env) {
	f := e.create("a", "still here")
	e.ok(e.fs.Remove(e.at("a")))
	e.wantAbsent("a")
	e.is("remove nothing", e.fs.Remove(e.at("a")), fs.ErrNotExist)
	if got := e.contents(f); got != "still here" {
		e.Errorf("an open file holds %q after its removal", got)
	}
	e.write("a", "another")
	if got := e.contents(f); got != "still here" {
		e.Errorf("a new file of that name shows through: %q", got)
	}
	e.ok(e.fs.Mkdir(e.at("dir")))
	e.write("dir/x", "")
	e.fails("remove a full directory", e.fs.Remove(e.at("dir")))
	e.ok(e.fs.Remove(e.at("dir", "x")))
	e.ok(e.fs.Remove(e.at("dir")))
	e.wantAbsent("dir")
	e.ok(vfs.RemoveIfPresent(e.fs, e.at("a")))
	e.ok(vfs.RemoveIfPresent(e.fs, e.at("a")))
}

func rename(e *env) {
	e.write("new", "new")
	before, err := e.fs.Stat(e.at("new"))
	e.ok(err)
	e.ok(e.fs.Rename(e.at("new"), e.at("moved")))
	e.wantAbsent("new")
	after, err := e.fs.Stat(e.at("moved"))
	e.ok(err)
	if after.FileID != before.FileID {
		e.Errorf("a renamed file changed its identity: %v, %v", before.FileID, after.FileID)
	}
	old := e.create("old", "old")
	e.ok(e.fs.Rename(e.at("moved"), e.at("old")))
	e.wantContents("old", "new")
	e.wantAbsent("moved")
	if got := e.contents(old); got != "old" {
		e.Errorf("the replaced file, still open, holds %q", got)
	}
	_, err = old.WriteAt([]byte("XXX"), 0)
	e.ok(err)
	e.wantContents("old", "new")
	e.ok(e.fs.Mkdir(e.at("dir")))
	e.ok(e.fs.Rename(e.at("old"), e.at("dir", "old")))
	e.wantContents("dir/old", "new")
	e.ok(e.fs.Rename(e.at("dir", "old"), e.at("dir", "old")))
	e.wantContents("dir/old", "new")
}

func renameRefusals(e *env) {
	e.write("a", "a")
	e.ok(e.fs.Mkdir(e.at("dir")))
	e.is("of nothing", e.fs.Rename(e.at("absent"), e.at("a")), fs.ErrNotExist)
	e.is("to nowhere", e.fs.Rename(e.at("a"), e.at("absent", "a")), fs.ErrNotExist)
	e.fails("over a directory", e.fs.Rename(e.at("a"), e.at("dir")))
	e.wantContents("a", "a")
}

func removeTree(e *env) {
	e.ok(vfs.RemoveTree(e.fs, e.at("absent")))
	e.ok(e.fs.Mkdir(e.at("t")))
	e.ok(e.fs.Mkdir(e.at("t", "u")))
	e.ok(e.fs.Mkdir(e.at("t", "v")))
	e.write("t/x", "x")
	e.write("t/u/y", "y")
	e.write("kept", "")
	e.ok(vfs.RemoveTree(e.fs, e.at("t")))
	e.wantAbsent("t")
	e.wantContents("kept", "")
	e.ok(vfs.RemoveTree(e.fs, e.at("kept")))
	e.wantAbsent("kept")
}
