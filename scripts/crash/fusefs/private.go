//go:build linux

package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Private mounts, and keeps the descriptors of the device from the processes
// that this one starts. A mount lives as long as one of them is open: a child
// that has it, and waits for an answer of a server that was killed, would wait
// for ever, and with it all that use loop devices.
func Private(mount func() (*fuse.Server, error)) (*fuse.Server, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	server, err := mount()
	if err != nil {
		return nil, err
	}
	if err := closeOnExec(); err != nil {
		return nil, errors.Join(err, server.Unmount())
	}
	return server, nil
}

func closeOnExec() error {
	const own = "/proc/self/fd"
	entries, err := os.ReadDir(own)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// The descriptor of the listing itself is closed by now.
		target, err := os.Readlink(filepath.Join(own, e.Name()))
		if err != nil || target != Device {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return err
		}
		syscall.CloseOnExec(fd)
	}
	return nil
}
