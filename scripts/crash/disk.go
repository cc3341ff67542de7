//go:build linux && amd64

package main

import (
	"bytes"
	"context"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/lace-store/lace/scripts/crash/fusefs"
)

// blockLen is the unit in which a disk keeps what was written to it.
const blockLen = 4096

// event is something that reached a disk.
type event struct {
	flush bool
	off   int64
	data  []byte // of a write; nil is a discard of length bytes
	len   int64
}

// faults are what a disk is to refuse: the call numbered so, from one, and all
// after it when they last. Zero refuses nothing.
type faults struct {
	write, flush, read int
	lasting            bool
}

// disk is an image that never changes, and the blocks that were written over
// it. It records what reaches it and fails on demand; all by mu.
type disk struct {
	mu        sync.Mutex
	base      []byte
	over      map[int64][]byte
	recording bool
	log       []event
	faults    faults
	count     faults // calls since the faults were set
	refused   int
}

// reset makes the disk what its image is.
func (d *disk) reset(base []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base, d.over, d.recording, d.log, d.faults = base, map[int64][]byte{}, false, nil, faults{}
}

// record starts to record, or ends it and returns the record.
func (d *disk) record(on bool) []event {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recording = on
	log := d.log
	d.log = nil
	return log
}

// seen says how many events are recorded so far.
func (d *disk) seen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.log)
}

// fail sets the faults and returns what had been counted, and refused, since
// they were set last.
func (d *disk) fail(f faults) (count faults, refused int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	count, refused = d.count, d.refused
	d.faults, d.count, d.refused = f, faults{}, 0
	return count, refused
}

// heal ends the faults; what was refused stays counted.
func (d *disk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = faults{}
}

// refuses counts a call and says whether it fails. mu is held.
func (d *disk) refuses(count *int, at int) bool {
	*count++
	if at == 0 || *count < at || *count > at && !d.faults.lasting {
		return false
	}
	d.refused++
	return true
}

// put writes bytes; mu is held. Nil data is zeros.
func (d *disk) put(off int64, data []byte, length int64) {
	for done := int64(0); done < length; {
		n := (off + done) / blockLen
		at := (off + done) % blockLen
		part := min(blockLen-at, length-done)
		b, ok := d.over[n]
		if !ok {
			b = bytes.Clone(d.base[n*blockLen : (n+1)*blockLen])
			d.over[n] = b
		}
		if data == nil {
			clear(b[at : at+part])
		} else {
			copy(b[at:], data[done:done+part])
		}
		done += part
	}
}

// apply puts a recorded write or discard on the disk.
func (d *disk) apply(e event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !e.flush {
		d.put(e.off, e.data, e.len)
	}
}

// get reads bytes; mu is held.
func (d *disk) get(off int64, dest []byte) {
	for done := int64(0); done < int64(len(dest)); {
		n, at := (off+done)/blockLen, (off+done)%blockLen
		b, ok := d.over[n]
		if !ok {
			b = d.base[n*blockLen : (n+1)*blockLen]
		}
		done += int64(copy(dest[done:], b[at:]))
	}
}

// node is the disk as a file. Direct IO keeps the cache of the host out of the
// way: what the loop device reads is what the disk holds.
type node struct {
	fs.Inode
	d *disk
}

var (
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeAllocater = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
)

func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	out.Mode, out.Size = 0o600, uint64(len(n.d.base))
	return 0
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.Getattr(ctx, f, out)
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses(&d.count.read, d.faults.read) {
		return nil, syscall.EIO
	}
	dest = dest[:max(min(int64(len(dest)), int64(len(d.base))-off), 0)]
	d.get(off, dest)
	return fuse.ReadResultData(dest), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if off+int64(len(data)) > int64(len(d.base)) {
		return 0, syscall.ENOSPC
	}
	if d.refuses(&d.count.write, d.faults.write) {
		return 0, syscall.EIO
	}
	d.put(off, data, int64(len(data)))
	if d.recording {
		d.log = append(d.log, event{off: off, data: bytes.Clone(data), len: int64(len(data))})
	}
	return uint32(len(data)), 0
}

// Fsync is a flush of the disk's cache: the loop device makes one of every
// flush, and of every write that is to be durable at once.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses(&d.count.flush, d.faults.flush) {
		return syscall.EIO
	}
	if d.recording {
		d.log = append(d.log, event{flush: true})
	}
	return 0
}

// Allocate is a discard.
func (n *node) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	const punch, zero = 2, 0x10
	d := n.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case mode&(punch|zero) == 0:
		return syscall.EOPNOTSUPP
	case off+size > uint64(len(d.base)):
		return syscall.EINVAL
	}
	d.put(int64(off), nil, int64(size))
	if d.recording {
		d.log = append(d.log, event{off: int64(off), len: int64(size)})
	}
	return 0
}

// serve mounts dir with the one file "disk" in it.
func serve(dir string, d *disk) (*fuse.Server, error) {
	root := &fs.Inode{}
	options := &fs.Options{
		OnAdd: func(ctx context.Context) {
			n := root.NewPersistentInode(ctx, &node{d: d}, fs.StableAttr{Mode: syscall.S_IFREG})
			root.AddChild("disk", n, true)
		},
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "lace-crash", Name: "lace-crash", MaxWrite: 512 << 10},
	}
	return fusefs.Private(func() (*fuse.Server, error) { return fs.Mount(dir, root, options) })
}
