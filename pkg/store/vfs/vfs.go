// Package vfs is the one door to files: a small file-system interface with
// explicit durability verbs, so that crashes and faults can be injected at
// every call. It must not know what any file means.
//
// What the callers may assume of the medium: bytes of a file are durable after
// its Sync returned nil; an entry created, renamed or removed is durable after
// SyncDir of its directory returned nil; nothing else is durable, in any
// order. After a failed Sync or SyncDir nothing is known about what is
// durable, and a later success proves nothing about it.
//
// Every error wraps the operating system's error, so that errors.Is(err,
// fs.ErrNotExist) and errors.Is(err, syscall.ENOSPC) work.
package vfs

import (
	"errors"
	"io"
)

// Mode says how OpenFile opens a file.
type Mode uint8

// Modes are combined with |. ReadOnly is the zero Mode.
const (
	ReadOnly  Mode = 0
	ReadWrite Mode = 1 << iota
	Create         // make the file when it is absent; needs ReadWrite
	Exclusive      // with Create: fail with fs.ErrExist when it is there
)

// FS is a file system. Paths are those of the host; none but ReadDir, Stat and
// SyncDir may name a directory, and the last component of a path is never
// followed when it is a symbolic link.
type FS interface {
	// OpenFile opens a regular file; anything else at that path (a symbolic
	// link, a directory, a FIFO, a device) is ErrNotRegular, without blocking.
	OpenFile(path string, mode Mode) (File, error)
	// Stat describes what is at path itself.
	Stat(path string) (Info, error)
	// ReadDir lists a directory in ascending name order.
	ReadDir(path string) ([]Info, error)
	// Mkdir makes one directory.
	Mkdir(path string) error
	// Remove removes a file, a link or an empty directory.
	Remove(path string) error
	// Rename moves a file over newPath, atomically replacing a file there.
	Rename(oldPath, newPath string) error
	// SyncDir makes the directory's entries durable. Where the platform has no
	// such call (Windows) it does nothing (seed 002).
	SyncDir(path string) error
	// Space describes the file system that holds path.
	Space(path string) (Space, error)
}

// File is an open regular file. All reads and writes are positional.
type File interface {
	// ReadAt and WriteAt follow io.ReaderAt and io.WriterAt; interrupted and
	// short calls are continued inside.
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the file's bytes and size durable. It is never retried.
	Sync() error
	// Truncate sets the file's size; new bytes are a hole.
	Truncate(size int64) error
	// Stat describes the open file.
	Stat() (Info, error)
	// SetSparse marks the file sparse where the platform wants that said
	// before it is sized (Windows); elsewhere it does nothing.
	SetSparse() error
	// PunchHole frees the bytes [off, off+n) and keeps the size; they read as
	// zeros afterwards. ErrUnsupported when the file system cannot.
	PunchHole(off, n int64) error
	// DropCache asks that clean cached pages of [off, off+n) be forgotten.
	// It is advice: no correctness may depend on it, and where the platform has
	// no such call it does nothing.
	DropCache(off, n int64) error
	// TryLock takes a whole-file advisory lock of this open file without
	// waiting: ErrLocked when another open file holds a conflicting one. A
	// lock is never converted, because a refused conversion loses the lock that
	// was held: ErrLockHeld when this open file has one already. Open the file
	// again for another mode.
	TryLock(mode LockMode) error
	// Unlock gives the lock back. Close does so too. Without a lock it does
	// nothing.
	Unlock() error
	// Map maps the first size bytes read-only. The mapping lives until it is
	// released and no View is reachable; keep, which may be nil, is closed
	// after that. When Map fails, keep is left open. The file may be closed
	// while it is mapped.
	Map(size int64, keep io.Closer) (Mapping, error)
}

// LockMode is the mode of an advisory whole-file lock.
type LockMode uint8

// The two lock modes.
const (
	Shared LockMode = iota + 1
	ExclusiveLock
)

// Mapping is a read-only view of a file.
type Mapping interface {
	// View returns bytes [off, off+n) and the owner that keeps them valid:
	// the bytes may be read only while owner is reachable. It panics when the
	// range is outside the mapping, which is a bug of the caller.
	View(off int64, n int) (b []byte, owner any)
	// Release gives up the holder's own reference. The memory is unmapped and
	// keep is closed once no owner is reachable any more. It may be called
	// more than once.
	Release()
	// Released is closed after the memory is unmapped and keep is closed.
	Released() <-chan struct{}
}

// Info describes a directory entry or an open file.
type Info struct {
	Name      string
	Type      Type
	Size      int64
	Allocated int64 // bytes of storage in use, as far as the system tells
	FileID    FileID
}

// Type is what a directory entry is.
type Type uint8

// The types of entry that matter here.
const (
	Regular Type = iota + 1
	Directory
	Symlink
	Other
)

// FileID identifies a file on this machine while it exists; two paths with
// equal, nonzero FileIDs are one file.
type FileID struct{ Device, Inode uint64 }

// Space describes a file system. Counts that the system does not tell are
// negative.
type Space struct {
	FreeBytes   int64
	FreeInodes  int64
	BlockSize   int64
	FSType      string // "ext4", "xfs", "btrfs", "nfs", ..., "" when unknown
	Network     bool   // kernel locks and mapping coherence are doubtful
	CopyOnWrite bool   // an overwrite allocates, and a punch may free nothing
	ReadOnly    bool   // mounted read-only
}

// Errors of this package.
var (
	// ErrUnsupported says that the file system lacks the ability.
	ErrUnsupported = errors.New("not supported by this file system")
	// ErrLocked says that another open file holds a conflicting lock.
	ErrLocked = errors.New("locked by another owner")
	// ErrLockHeld says that this open file holds a lock already.
	ErrLockHeld = errors.New("this open file holds a lock already")
	// ErrNotRegular says that the path is not a regular file.
	ErrNotRegular = errors.New("not a regular file")
)
