package vfs_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	oldText = "the old contents"
	name    = "name"
	temp    = name + vfs.TempSuffix
)

// newText spans several sectors and writes, so that it can be torn.
var newText = strings.Repeat("the new contents. ", 6000)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func put(t *testing.T, fsys vfs.FS, path, text string) {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadWrite|vfs.Create)
	must(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	must(t, err)
	must(t, errors.Join(f.Sync(), f.Close(), fsys.SyncDir("/")))
}

// get returns the text of a file, and whether it is there.
func get(t *testing.T, fsys vfs.FS, path string) (string, bool) {
	t.Helper()
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size))
	must(t, err)
	return string(b), true
}

// before are the states that a Replace may find.
var before = map[string]func(*testing.T, vfs.FS){
	"nothing there":    func(*testing.T, vfs.FS) {},
	"an old file":      func(t *testing.T, f vfs.FS) { put(t, f, "/"+name, oldText) },
	"a stale leftover": func(t *testing.T, f vfs.FS) { put(t, f, "/"+name, oldText); put(t, f, "/"+temp, newText+newText) },
}

func prepared(t *testing.T, state string) *crashfs.FS {
	base := crashfs.New(crashfs.Options{})
	before[state](t, base)
	return base.Clone()
}

func replace(fsys vfs.FS) error { return vfs.Replace(fsys, "/", name, write(newText)) }

// wholly fails unless name holds the old or the new text, or is absent where
// it was absent before.
func wholly(t *testing.T, fsys vfs.FS, state string) error {
	text, there := get(t, fsys, "/"+name)
	switch {
	case there && text == newText:
	case there && text == oldText && state != "nothing there":
	case !there && state == "nothing there":
	default:
		return fmt.Errorf("name (there: %v) holds %d bytes: %.40q", there, len(text), text)
	}
	return nil
}

func TestReplaceCallSequence(t *testing.T) {
	for state := range before {
		fsys := faultfs.New(prepared(t, state), "/")
		must(t, replace(fsys))
		golden(t, "replace "+state, fsys.Transcript(faultfs.All))
	}
	fsys := faultfs.New(prepared(t, "an old file"), "/")
	fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Sync, temp), Err: syscall.EIO})
	if err := replace(fsys); !errors.Is(err, syscall.EIO) {
		t.Errorf("Replace = %v", err)
	}
	golden(t, "replace with a failed sync", fsys.Transcript(faultfs.All))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s: the calls are\n%s\nwant\n%s", name, got, want)
	}
}

// Every call of Replace is made to fail, alone and with all later ones of its
// kind, before and after it took effect.
func TestReplaceSurvivesEveryFailure(t *testing.T) {
	for state := range before {
		for k := 1; ; k++ {
			done := false
			for _, after := range []bool{false, true} {
				for _, keep := range []bool{false, true} {
					done = failReplaceAt(t, state, k, after, keep)
				}
			}
			if done {
				break
			}
		}
	}
}

// failReplaceAt fails the k-th call of a Replace. It reports whether there was
// no such call.
func failReplaceAt(t *testing.T, state string, k int, after, keep bool) (done bool) {
	fsys := faultfs.New(prepared(t, state), "/")
	fault := fsys.Inject(faultfs.Fault{Match: faultfs.All, At: k, Err: syscall.EDQUOT, After: after, KeepFailing: keep})
	err := replace(fsys)
	if fault.Fired() == 0 {
		must(t, err)
		return true
	}
	fault.Remove()
	where := fmt.Sprintf("%s, call %d fails (after: %v, keeps failing: %v)\n%s", state, k, after, keep,
		fsys.Transcript(faultfs.All))
	if !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("Replace = %v; %s", err, where)
	}
	if !strings.Contains(fmt.Sprint(err), "replace "+name) {
		t.Errorf("the error does not name the file: %v; %s", err, where)
	}
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %q; %s", leaks, where)
	}
	if err := wholly(t, fsys, state); err != nil {
		t.Errorf("%v; %s", err, where)
	}
	failed := fsys.Calls(func(c faultfs.Call) bool { return errors.Is(c.Err, syscall.EDQUOT) })[0]
	if _, there := get(t, fsys, "/"+temp); there && failed.Op != faultfs.Remove && !keep {
		t.Errorf("the temporary is still there; %s", where)
	}
	must(t, replace(fsys))
	if text, _ := get(t, fsys, "/"+name); text != newText {
		t.Errorf("the next Replace left %.40q; %s", text, where)
	}
	return false
}

func TestReplaceReportsTheWritersError(t *testing.T) {
	own := errors.New("own")
	for _, size := range []int{0, 10, 1 << 20} {
		fsys := faultfs.New(prepared(t, "an old file"), "/")
		err := vfs.Replace(fsys, "/", name, func(w io.Writer) error {
			if _, err := w.Write(make([]byte, size)); err != nil {
				return err
			}
			return own
		})
		if !errors.Is(err, own) {
			t.Errorf("Replace = %v", err)
		}
		if text, _ := get(t, fsys, "/"+name); text != oldText {
			t.Errorf("the old file holds %.40q", text)
		}
		if _, there := get(t, fsys, "/"+temp); there || len(fsys.Leaks()) > 0 {
			t.Errorf("the temporary is there: %v, leaks %q", there, fsys.Leaks())
		}
	}
}

// crashReplace cuts the power at every call of work and checks every outcome.
// It returns the first violation, so that broken protocols can be shown to be
// caught.
func crashReplace(t *testing.T, state string, o crashfs.Options, work func(vfs.FS) error) error {
	base := crashfs.New(o)
	before[state](t, base)
	for k := 1; ; k++ {
		run := base.Clone()
		run.CrashAt(k)
		err := work(run)
		if err != nil && !errors.Is(err, crashfs.ErrCrashed) {
			return err
		}
		for _, s := range run.Survivors(16, uint64(k)) {
			after := run.Crash(s)
			if err := wholly(t, after, state); err != nil {
				return fmt.Errorf("crash at %d, %s kept of %q: %w", k, s, run.Pending(), err)
			}
			if text, _ := get(t, after, "/"+name); !run.Crashed() && text != newText {
				return fmt.Errorf("Replace returned, and a crash with %s kept left %.40q", s, text)
			}
			must(t, replace(after))
		}
		if !run.Crashed() {
			return nil
		}
	}
}

func TestReplaceSurvivesEveryCrash(t *testing.T) {
	for state := range before {
		for _, o := range []crashfs.Options{{}, {OrderedEntries: true}} {
			if err := crashReplace(t, state, o, replace); err != nil {
				t.Errorf("%s, %+v: %v", state, o, err)
			}
		}
	}
}

// lazy leaves out syncs, as a broken Replace would.
type lazy struct {
	vfs.FS
	noSync, noSyncDir bool
}

type lazyFile struct{ vfs.File }

func (lazyFile) Sync() error { return nil }

func (l lazy) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := l.FS.OpenFile(path, mode)
	if err == nil && l.noSync {
		f = lazyFile{f}
	}
	return f, err
}

func (l lazy) SyncDir(path string) error {
	if l.noSyncDir {
		return nil
	}
	return l.FS.SyncDir(path)
}

// A test that never saw a broken protocol proves nothing.
func TestBrokenReplacesAreCaught(t *testing.T) {
	for mutant, work := range map[string]func(vfs.FS) error{
		"no sync of the file":      func(f vfs.FS) error { return replace(lazy{FS: f, noSync: true}) },
		"no sync of the directory": func(f vfs.FS) error { return replace(lazy{FS: f, noSyncDir: true}) },
		"written in place": func(f vfs.FS) error {
			h, err := f.OpenFile("/"+name, vfs.ReadWrite|vfs.Create)
			if err != nil {
				return err
			}
			_, err = h.WriteAt([]byte(newText), 0)
			return errors.Join(err, h.Sync(), h.Close(), f.SyncDir("/"))
		},
		"removed before the rename": func(f vfs.FS) error {
			if err := errors.Join(vfs.RemoveIfPresent(f, "/"+name), f.SyncDir("/")); err != nil {
				return err
			}
			return replace(f)
		},
	} {
		if err := crashReplace(t, "an old file", crashfs.Options{}, work); err == nil {
			t.Errorf("%s: not caught", mutant)
		}
	}
}

func TestRemoveTreeReportsFailures(t *testing.T) {
	for k := 1; ; k++ {
		base := crashfs.New(crashfs.Options{})
		must(t, base.Mkdir("/t"))
		must(t, base.Mkdir("/t/u"))
		put(t, base, "/t/x", "x")
		put(t, base, "/t/u/y", "y")
		fsys := faultfs.New(base, "/")
		fault := fsys.Inject(faultfs.Fault{Match: faultfs.All, At: k, Err: syscall.EACCES})
		err := vfs.RemoveTree(fsys, "/t")
		if fault.Fired() == 0 {
			must(t, err)
			break
		}
		if !errors.Is(err, syscall.EACCES) {
			t.Errorf("call %d fails, RemoveTree = %v", k, err)
		}
		must(t, vfs.RemoveTree(fsys, "/t"))
		if _, err := fsys.Stat("/t"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the tree is still there: %v", err)
		}
	}
}
