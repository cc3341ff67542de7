//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// bench is a disk of our own that a worker keeps over its trials.
type bench struct {
	disk   *disk
	server *fuse.Server
	dir    string
}

// benched returns the worker's disk of an image's size: the kernel does not
// expect a disk to change its size.
func (w *worker) benched(image []byte) (*bench, error) {
	if b := w.benches[len(image)]; b != nil {
		// A mount of the trial before may still be ending.
		if err := detached(filepath.Join(b.dir, "disk")); err != nil {
			return nil, err
		}
		b.disk.reset(image)
		return b, nil
	}
	b := &bench{disk: &disk{}, dir: fmt.Sprintf("%s-disk%d", w.dir, len(image))}
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return nil, err
	}
	b.disk.reset(image)
	server, err := serve(b.dir, b.disk)
	if err != nil {
		return nil, err
	}
	if w.benches == nil {
		w.benches = map[int]*bench{}
	}
	b.server, w.benches[len(image)] = server, b
	return b, nil
}

// close ends what a worker kept.
func (w *worker) close() {
	for _, b := range w.benches {
		if err := b.server.Unmount(); err != nil {
			fmt.Fprintln(os.Stderr, "crash: unmount a disk:", err)
		}
	}
	w.benches = nil
}

// image makes a disk image with a file system and the old root on it.
func (g *rig) image(x *subject, f filesystem) ([]byte, error) {
	dir, err := os.MkdirTemp(g.tmp, "image")
	if err != nil {
		return nil, err
	}
	w := &worker{rig: g, dir: dir}
	v, err := w.planted(x, f)
	if err != nil {
		return nil, err
	}
	if err := v.unmount(); err != nil {
		v.drop()
		return nil, err
	}
	fd, err := unix.Open(v.file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// The file is in memory already; a mapping makes no second copy.
	return unix.Mmap(fd, 0, int(f.size), unix.PROT_READ, unix.MAP_SHARED)
}

// mounted puts an image on the worker's disk and mounts it.
func (w *worker) mounted(image []byte) (*volume, *disk, error) {
	b, err := w.benched(image)
	if err != nil {
		return nil, nil, err
	}
	v, err := w.mount(b)
	return v, b.disk, err
}

// mount mounts what a disk holds.
func (w *worker) mount(b *bench) (*volume, error) {
	return mount(filepath.Join(b.dir, "disk"), filepath.Join(w.dir, "mount"))
}
