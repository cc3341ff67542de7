package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// pidBytes is more than the longest pid and its LF have.
const pidBytes = 32

// ownership is the sentinel of a root whose marker was checked.
type ownership struct {
	fs       *watched
	dir      string
	readOnly bool
	held     bool       // the sentinel is ours
	id       vfs.FileID // of the sentinel that was made
	// resumable says that what failed may have left a compaction to finish.
	resumable bool
}

// own checks the marker of the root dir and makes the sentinel. The root may
// hold files of an interrupted compaction.
//
// A reader makes it too: nothing else keeps a Node.js program from appending
// to the root, or compacting it, meanwhile. On a read-only mount nobody can, and
// a reader only looks whether there is a sentinel.
func own(ctx context.Context, dir string, opts profile.Options) (*ownership, error) {
	if err := bootstrap.Accept(dir, root.Node, opts); err != nil {
		return nil, err
	}
	return ownMarked(ctx, dir, opts)
}

func ownMarked(ctx context.Context, dir string, opts profile.Options) (*ownership, error) {
	o := &ownership{fs: &watched{FS: opts.FS}, dir: dir, readOnly: opts.ReadOnly}
	began := time.Now()
	for told := false; ; {
		err := o.take()
		if !errors.Is(err, store.Busy) || time.Since(began) >= opts.LockWait {
			if err != nil {
				return nil, err
			}
			return o, nil
		}
		if !told && opts.Waiting != nil && time.Since(began) >= bootstrap.TellAfter {
			opts.Waiting(root.NodeLock + " of " + dir)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, root.IOError("lock", dir, o.path(root.NodeLock), ctx.Err())
		case <-time.After(min(bootstrap.LockPoll, opts.LockWait-time.Since(began))):
		}
	}
}

// take makes the sentinel, or says who has it.
func (o *ownership) take() error {
	path := o.path(root.NodeLock)
	f, err := o.fs.OpenFile(path, vfs.ReadWrite|vfs.Create|vfs.Exclusive)
	switch {
	case errors.Is(err, fs.ErrExist) || errors.Is(err, vfs.ErrNotRegular):
		return o.busy(err)
	case err != nil && o.readOnly:
		return o.takeNothing(err)
	case err != nil:
		return root.IOError("create", o.dir, path, err)
	}
	o.held = true
	info, err := f.Stat()
	if err == nil {
		o.id = info.FileID
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err == nil && !o.readOnly {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return o.finish(root.IOError("write", o.dir, path, err))
	}
	return nil
}

// takeNothing lets a reader go on that could not make a sentinel because of a
// read-only mount, unless there is one.
func (o *ownership) takeNothing(cause error) error {
	path := o.path(root.NodeLock)
	space, err := o.fs.Space(o.dir)
	if err != nil {
		return root.IOError("measure the file system of", o.dir, o.dir, errors.Join(cause, err))
	}
	if !space.ReadOnly {
		e := root.IOError("create", o.dir, path, cause)
		var known *store.Error
		if errors.As(e, &known) {
			known.Hint = "a reader makes " + root.NodeLock + " to keep writers out; it may do without on a read-only mount"
		}
		return e
	}
	there, err := bootstrap.StatIfPresent(o.fs, o.dir, root.NodeLock)
	if err != nil {
		return err
	}
	if there != nil {
		return o.busy(fs.ErrExist)
	}
	return nil
}

// busy is the error about a sentinel that is there. It names the pid where the
// sentinel does; the process may be gone, or its number taken by another.
func (o *ownership) busy(cause error) error {
	path := o.fullPath()
	found := "this root is open, or its owner died without closing it"
	// What cannot be read says nothing.
	if pid, _ := o.pid(); pid > 0 {
		found += fmt.Sprintf(": the sentinel was made by process %d", pid)
	}
	return &store.Error{
		Kind: store.Store, Reason: store.Busy, Doing: "lock", Root: o.dir, Path: path, Found: found, Err: cause,
		Hint: "wait until it is closed, or name a --lock-wait; only when it is certain that no process has this root open, delete " + path + " by hand",
	}
}

// pid is what the sentinel says, zero when it says nothing.
func (o *ownership) pid() (uint64, error) {
	f, err := o.fs.OpenFile(o.path(root.NodeLock), vfs.ReadOnly)
	if err != nil {
		return 0, err
	}
	var buf [pidBytes]byte
	n, err := f.ReadAt(buf[:], 0)
	if err = errors.Join(ignoreEOF(err), f.Close()); err != nil {
		return 0, err
	}
	text, ended := bytes.CutSuffix(buf[:n], []byte("\n"))
	pid, err := strconv.ParseUint(string(text), 10, 63)
	if err != nil || !ended {
		return 0, nil
	}
	return pid, nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// finish gives the root back after what came of the work on it: the sentinel
// is removed, as the very last thing. It stays when a close failed, because what
// became of that file is not known, and when it is another's. What is returned
// has err in it.
func (o *ownership) finish(err error) error {
	if !o.held {
		return err
	}
	o.held = false
	ours, e := o.isOurs()
	err = errors.Join(err, e)
	if failed := o.fs.closeError(); failed != nil {
		return o.keep(err, failed)
	}
	if !ours {
		return err
	}
	path := o.path(root.NodeLock)
	if e := o.fs.Remove(path); e != nil {
		return o.keep(err, root.IOError("remove", o.dir, path, e))
	}
	// Without this, a power cut could bring the sentinel of a root back that
	// was closed.
	if e := o.fs.SyncDir(o.dir); e != nil {
		err = errors.Join(err, root.IOError("sync directory", o.dir, o.dir, e))
	}
	return err
}

// isOurs asks whether the sentinel is the one that was made. Somebody may have
// deleted it for a stale one, and another have made its own since: that one must
// not be removed as well, and whoever worked on the root alone has to be told. One
// that cannot be looked at is taken for ours.
func (o *ownership) isOurs() (bool, error) {
	path := o.path(root.NodeLock)
	taken := &store.Error{
		Kind: store.Store, Doing: "close", Root: o.dir, Path: o.fullPath(), Want: "the sentinel that was made at opening",
		Hint: "another process may have changed this root at the same time; lace verify " + o.dir,
	}
	info, err := o.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		taken.Found = "it was deleted while the root was open"
		return false, taken
	}
	var pid uint64
	if err == nil && info.Type == vfs.Regular {
		pid, err = o.pid()
	}
	if err != nil {
		return true, root.IOError("look at", o.dir, path, err)
	}
	// What is made anew may get the number of the file that was deleted.
	other := o.id != (vfs.FileID{}) && info.FileID != o.id || info.Type != vfs.Regular || pid != 0 && pid != uint64(os.Getpid())
	if !other {
		return true, nil
	}
	taken.Found = "it was deleted while the root was open, and made anew"
	if pid != 0 {
		taken.Found += fmt.Sprintf(" by process %d", pid)
	}
	return false, taken
}

// keep is the error about a sentinel that stays.
func (o *ownership) keep(err, failed error) error {
	if !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	hint := "when it is certain that no process has this root open, delete " + o.fullPath() + " by hand"
	if o.resumable {
		hint = "nothing was lost; " + hint + ", then lace resume " + o.dir
	}
	return &store.Error{
		Kind: store.Store, Doing: "close", Root: o.dir, Path: o.fullPath(), Found: "the sentinel stays, because closing the root failed",
		Hint: hint, Err: err,
	}
}

func (o *ownership) path(name string) string { return filepath.Join(o.dir, name) }

// fullPath is the path of the sentinel from the root of the system on, as far
// as that can be told.
func (o *ownership) fullPath() string {
	path := o.path(root.NodeLock)
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
