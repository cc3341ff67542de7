// Package osfs is the vfs.FS of the operating system. It must not know what
// any file means, and adds no durability of its own: every verb is the system
// call that its name promises.
//
// What the systems differ in:
//
//	verb       Linux                    macOS             FreeBSD          Windows
//	Sync       fsync                    F_FULLFSYNC       fsync            FlushFileBuffers
//	SyncDir    fsync                    fsync             fsync            nothing
//	TryLock    flock                    flock             flock            LockFileEx
//	PunchHole  fallocate PUNCH_HOLE     F_PUNCHHOLE       fspacectl        FSCTL_SET_ZERO_DATA
//	DropCache  fadvise DONTNEED         nothing           fadvise          nothing
//
// Locks are the whole-file locks of Rust's standard library, so that programs
// written with either exclude each other.
//
// The code is built for 64-bit Linux, macOS, FreeBSD and Windows, and for no
// other system: OpenBSD keeps the pages of a mapping apart from what is written
// to the file, so that a reader would miss records, and nobody has tried the
// rest.
package osfs
