//go:build linux && amd64

package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Call is a system call on an entry of the watched directory.
type Call struct {
	Index   int // one-based among the mutating calls; 0 for the others
	Name    string
	Path    string // relative to the watched directory, which is "."
	To      string // where a rename goes
	Off     int64  // of a write or a punch
	Len     int64  // of a write, else 0: what success returns
	Flags   int    // of an open, a lock or a punch
	Mutates bool   // it changes files, or makes changes durable

	unknown bool
}

// String names the call as a crash point.
func (c Call) String() string {
	s := c.Name + " " + c.Path
	if c.To != "" {
		s += " to " + c.To
	}
	if c.Len > 0 {
		s += fmt.Sprintf(" %d+%d", c.Off, c.Len)
	}
	return s
}

// IsSync says that the call makes changes durable.
func (c Call) IsSync() bool { return c.Name == "fsync" || c.Name == "fdatasync" || c.Name == "syncfs" }

// IsHint says that the call asks for write-back and waits for none.
func (c Call) IsHint() bool { return c.Name == "sync_file_range" }

// IsWrite says that the call writes bytes.
func (c Call) IsWrite() bool { return c.Name == "write" || c.Name == "pwrite64" }

// kind is how the arguments of a call are read.
type kind int

const (
	onFile   kind = iota // a descriptor
	written              // descriptor, buffer, length, offset
	gathered             // descriptor, buffers, number of them, offset
	punched              // descriptor, mode, offset, length
	locked               // descriptor, operation
	onPath               // path
	atPath               // directory descriptor, path
	opened               // directory descriptor, path, flags
	renamed              // two of the former
	renameOf             // two paths
	unknown              // a descriptor, and an error when it is watched
)

type described struct {
	name    string
	kind    kind
	mutates bool
}

// calls are the calls that are shown. An unknown call that would change a
// watched file ends the run with an error: it would have been missed.
func calls() map[uint64]described {
	return map[uint64]described{
		unix.SYS_WRITE:     {"write", written, true},
		unix.SYS_PWRITE64:  {"pwrite64", written, true},
		unix.SYS_FSYNC:     {"fsync", onFile, true},
		unix.SYS_FDATASYNC: {"fdatasync", onFile, true},
		unix.SYS_SYNCFS:    {"syncfs", onFile, true},
		unix.SYS_FTRUNCATE: {"ftruncate", onFile, true},
		unix.SYS_TRUNCATE:  {"truncate", onPath, true},
		unix.SYS_FALLOCATE: {"fallocate", punched, true},
		unix.SYS_RENAME:    {"rename", renameOf, true},
		unix.SYS_RENAMEAT:  {"renameat", renamed, true},
		unix.SYS_RENAMEAT2: {"renameat2", renamed, true},
		unix.SYS_UNLINK:    {"unlink", onPath, true},
		unix.SYS_UNLINKAT:  {"unlinkat", atPath, true},
		unix.SYS_RMDIR:     {"rmdir", onPath, true},
		unix.SYS_MKDIR:     {"mkdir", onPath, true},
		unix.SYS_MKDIRAT:   {"mkdirat", atPath, true},
		unix.SYS_OPENAT:    {"openat", opened, false},
		unix.SYS_FLOCK:     {"flock", locked, false},
		unix.SYS_PREAD64:   {"pread64", onFile, false},
		// A hint: durability is fsync's.
		unix.SYS_SYNC_FILE_RANGE: {"sync_file_range", onFile, false},
		// The pages of LMDB.
		unix.SYS_WRITEV:   {"writev", gathered, true},
		unix.SYS_PWRITEV:  {"pwritev", gathered, true},
		unix.SYS_PWRITEV2: {"pwritev2", unknown, true},
		unix.SYS_SENDFILE: {"sendfile", unknown, true},
	}
}

// describe reads the arguments of a call; watched says that it is shown.
func (t *tracer) describe(r *unix.PtraceRegs) (c Call, watched bool) {
	d, ok := t.known[r.Orig_rax]
	if !ok {
		return c, false
	}
	c = Call{Name: d.name, Mutates: d.mutates}
	var path, to string
	switch d.kind {
	case onFile, unknown:
		path = t.file(r.Rdi)
	case written:
		path, c.Len = t.file(r.Rdi), int64(r.Rdx)
		if d.name == "pwrite64" {
			c.Off = int64(r.R10)
		}
	case gathered:
		path, c.Len = t.file(r.Rdi), t.gathered(r.Rsi, r.Rdx)
		if d.name == "pwritev" {
			c.Off = int64(r.R10)
		}
	case punched:
		path, c.Flags, c.Off = t.file(r.Rdi), int(r.Rsi), int64(r.Rdx)
	case locked:
		path, c.Flags = t.file(r.Rdi), int(r.Rsi)
	case onPath:
		path = t.at(unix.AT_FDCWD, r.Rdi)
	case atPath:
		path = t.at(int32(r.Rdi), r.Rsi)
	case opened:
		path, c.Flags = t.at(int32(r.Rdi), r.Rsi), int(r.Rdx)
		_, err := os.Lstat(path)
		c.Mutates = c.Flags&unix.O_TRUNC != 0 || c.Flags&unix.O_CREAT != 0 && err != nil
	case renamed:
		path, to = t.at(int32(r.Rdi), r.Rsi), t.at(int32(r.Rdx), r.R10)
	case renameOf:
		path, to = t.at(unix.AT_FDCWD, r.Rdi), t.at(unix.AT_FDCWD, r.Rsi)
	}
	if strings.HasPrefix(d.name, "unlink") || d.name == "rmdir" {
		_, err := os.Lstat(path)
		c.Mutates = err == nil // nothing there, nothing changes
	}
	c.Path, watched = t.below(path)
	c.unknown = watched && d.kind == unknown
	if to != "" {
		c.To, _ = t.below(to)
	}
	return c, watched
}

// below returns a path relative to the watched directory.
func (t *tracer) below(path string) (string, bool) {
	if path == t.command.Watch {
		return ".", true
	}
	return strings.CutPrefix(path, t.command.Watch+"/")
}

// file returns the path of an open file.
func (t *tracer) file(fd uint64) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(fd)))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// at returns the path at an address of the process, made absolute.
func (t *tracer) at(dir int32, address uint64) string {
	path := t.text(address)
	switch {
	case path == "" || filepath.IsAbs(path):
		return filepath.Clean(path)
	case dir == unix.AT_FDCWD:
		return filepath.Join(t.command.Dir, path)
	}
	return filepath.Join(t.file(uint64(dir)), path)
}

// gathered adds up the lengths of buffers that are described at an address of
// the process.
func (t *tracer) gathered(address, count uint64) (sum int64) {
	const each = 16 // a pointer and a length
	buf := make([]byte, each*min(count, 1024))
	if len(buf) == 0 {
		return 0
	}
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	n, err := unix.ProcessVMReadv(t.pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(buf)}}, 0)
	if err != nil {
		return 0
	}
	for ; n >= each; n, buf = n-each, buf[each:] {
		sum += int64(binary.LittleEndian.Uint64(buf[8:]))
	}
	return sum
}

// text reads a string that ends with a zero byte. It does not read across a
// page that may not be there.
func (t *tracer) text(address uint64) string {
	var text []byte
	for len(text) < unix.PathMax {
		page := make([]byte, 4096-address%4096)
		local := []unix.Iovec{{Base: &page[0], Len: uint64(len(page))}}
		n, err := unix.ProcessVMReadv(t.pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(page)}}, 0)
		if err != nil || n == 0 {
			return string(text)
		}
		if end := bytes.IndexByte(page[:n], 0); end >= 0 {
			return string(append(text, page[:end]...))
		}
		text = append(text, page[:n]...)
		address += uint64(n)
	}
	return string(text)
}
