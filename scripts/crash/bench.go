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

// benched starts the worker's disk.
func (w *worker) benched() (*bench, error) {
	if w.bench != nil {
		return w.bench, nil
	}
	b := &bench{disk: &disk{}, dir: w.dir + "-disk"}
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return nil, err
	}
	b.disk.reset(make([]byte, blockLen))
	server, err := serve(b.dir, b.disk)
	if err != nil {
		return nil, err
	}
	b.server, w.bench = server, b
	return b, nil
}

// close ends what a worker kept.
func (w *worker) close() {
	if w.bench != nil {
		if err := w.bench.server.Unmount(); err != nil {
			fmt.Fprintln(os.Stderr, "crash: unmount a disk:", err)
		}
		w.bench = nil
	}
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
	b, err := w.benched()
	if err != nil {
		return nil, nil, err
	}
	b.disk.reset(image)
	v, err := w.again()
	return v, b.disk, err
}

// again mounts what the worker's disk holds.
func (w *worker) again() (*volume, error) {
	return mount(filepath.Join(w.bench.dir, "disk"), filepath.Join(w.dir, "mount"))
}
