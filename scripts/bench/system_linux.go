package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// startWriteBack asks the system to begin writing a range; it is advice.
func startWriteBack(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

// dropCaches forgets every clean page of the system, so that the next run is
// cold. It reports whether it could.
func dropCaches() bool {
	unix.Sync()
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0o200) == nil
}

// writtenBy returns the bytes that a process that has ended sent to storage.
func writtenBy(s *os.ProcessState) uint64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok || u.Oublock < 0 {
		return 0
	}
	return uint64(u.Oublock) * 512
}

// allocated returns the storage below a directory in bytes. Files that vanish
// meanwhile are left out.
func allocated(dir string) int64 {
	var sum int64
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if e.IsDir() {
			sum += allocated(filepath.Join(dir, e.Name()))
			continue
		}
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(dir, e.Name()), &st) == nil {
			sum += st.Blocks * 512
		}
	}
	return sum
}

// unlinked returns the storage in bytes of files that a process has open and
// that have no name any more, as temporary files of databases.
func unlinked(pid int) int64 {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var sum int64
	for _, e := range entries {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(dir, e.Name()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 0 {
			sum += st.Blocks * 512
		}
	}
	return sum
}

// fileSystemOf returns the name of the type of file system that holds a path.
func fileSystemOf(path string) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return "an unknown file system"
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	}
	return "another file system"
}

// memoryOf returns the memory of the machine in bytes.
func memoryOf() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}
