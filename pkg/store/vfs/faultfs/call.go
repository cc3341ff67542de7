package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// Op is the verb of a call, as it stands in the transcript.
type Op string

// The verbs. An OpenFile is Create when it makes the file, else Open.
const (
	Open      Op = "open"
	Create    Op = "create"
	Read      Op = "read"
	Write     Op = "write"
	Sync      Op = "sync"
	Truncate  Op = "truncate"
	Punch     Op = "punch"
	SetSparse Op = "sparse"
	DropCache Op = "dropcache"
	StatFile  Op = "fstat"
	Lock      Op = "lock"
	Unlock    Op = "unlock"
	Map       Op = "map"
	Close     Op = "close"
	Stat      Op = "stat"
	List      Op = "list"
	Mkdir     Op = "mkdir"
	Remove    Op = "remove"
	Rename    Op = "rename"
	SyncDir   Op = "syncdir"
	Space     Op = "space"
	Commit    Op = "commit" // of a database, see Note
)

// Changing says whether the verb changes a file or a directory, or makes such
// a change durable: the calls at which a crash or a full disk can matter.
func (o Op) Changing() bool {
	switch o {
	case Create, Write, Truncate, Punch, SetSparse, Mkdir, Remove, Rename, Sync, SyncDir, Commit:
		return true
	}
	return false
}

// Call is one call that was made.
type Call struct {
	Op   Op
	Path string // relative to the directory given to New
	To   string // the new path of Rename
	Off  int64  // the first byte, for the verbs that have a range
	Len  int64  // its length in bytes; the new size for Truncate and Map
	Mode string // how a file was opened, which lock was taken
	Err  error  // what it returned
}

// All keeps every call.
func All(Call) bool { return true }

// Changing keeps the calls whose verb is Changing.
func Changing(c Call) bool { return c.Op.Changing() }

// On keeps the calls of one verb on one path, relative as in the transcript.
func On(op Op, path string) func(Call) bool {
	return func(c Call) bool { return c.Op == op && c.Path == path }
}

// String is the call's line in the transcript, without the end of line.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.Op, c.Path)
	switch c.Op {
	case Read, Write, Punch, DropCache:
		fmt.Fprintf(&b, " [%d, %d)", c.Off, c.Off+c.Len)
	case Truncate, Map:
		fmt.Fprintf(&b, " %d", c.Len)
	case Rename:
		b.WriteString(" " + c.To)
	}
	if c.Mode != "" {
		b.WriteString(" " + c.Mode)
	}
	if c.Err != nil {
		b.WriteString(": " + reason(c.Err))
	}
	return b.String()
}

// reason is the text of an error without the paths of this machine.
func reason(err error) string {
	var errno syscall.Errno
	for _, known := range []error{vfs.ErrUnsupported, vfs.ErrLocked, vfs.ErrLockHeld, vfs.ErrNotRegular,
		fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, fs.ErrInvalid, io.EOF} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if errors.As(err, &errno) {
		return errno.Error()
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

func modeText(mode vfs.Mode) string {
	switch {
	case mode&vfs.Exclusive != 0:
		return "exclusive"
	case mode&vfs.ReadWrite != 0:
		return "read-write"
	}
	return "read-only"
}

func lockText(mode vfs.LockMode) string {
	if mode == vfs.ExclusiveLock {
		return "exclusive"
	}
	return "shared"
}
