//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filesystem is a file system on a loop device.
type filesystem struct {
	name string
	size int64 // of the least disk it likes, in bytes
	mkfs []string
	// unique says that no two disks with one image can be mounted at a time:
	// the identity in it is taken.
	unique bool
	// super is the primary superblock, the one thing that a cut never tears.
	// Nothing but its own checksum protects it, and each file system writes it
	// in place as one block: torn, the disk cannot be mounted, and what lace
	// left on it is not reached. All else is torn at sectors.
	super span
}

// span is a range of a disk, in bytes.
type span struct{ off, len int64 }

// sector is the least that a disk writes at once, in bytes.
const sector = 512

func filesystems() []filesystem {
	return []filesystem{
		{"ext4", 24 << 20, []string{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}, false, span{1024, 1024}},
		{"xfs", 300 << 20, []string{"mkfs.xfs", "-q", "-f"}, true, span{0, sector}},
		{"btrfs", 120 << 20, []string{"mkfs.btrfs", "-q", "-f"}, true, span{64 << 10, 4096}},
	}
}

// alone keeps other workers from mounting images of a file system, until the
// returned function is called.
func (g *rig) alone(f filesystem) func() {
	if !f.unique {
		return func() {}
	}
	one := g.mounting[f.name]
	one.Lock()
	return one.Unlock
}

// volume is a mounted file system.
type volume struct {
	file string // the disk
	dir  string // the mount point
}

// format makes a file system in a new sparse file.
func (f filesystem) format(file string) error {
	disk, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := disk.Truncate(f.size); err != nil {
		return err
	}
	if err := disk.Close(); err != nil {
		return err
	}
	return command(append(f.mkfs, file)...)
}

// command runs a tool and returns what it says as its error.
func command(args ...string) error {
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

// mount puts a disk on a loop device, which goes with the mount.
func mount(file, dir string) (*volume, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	v := &volume{file, dir}
	return v, v.mount()
}

func (v *volume) mount() error {
	var err error
	for range 5 { // two at a time may want the same loop device
		if err = detached(v.file); err != nil {
			return err
		}
		if err = command("mount", "-o", "loop", v.file, v.dir); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// detached waits until no loop device has the disk. A mount that was dropped
// while a process still had it open goes on writing until that process lets go,
// and a device that is still there would be mounted again, with what it has
// cached of the disk before.
func detached(disk string) error {
	for range 500 {
		backing, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
		if err != nil {
			return err
		}
		busy := false
		for _, file := range backing {
			name, err := os.ReadFile(file) // the device may go meanwhile
			busy = busy || err == nil && strings.TrimSpace(string(name)) == disk
		}
		if !busy {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("a loop device does not give %s back", disk)
}

// unmount waits a moment for who is busy: a process that another worker starts
// has our descriptors between its fork and its exec.
func (v *volume) unmount() error {
	for range 200 {
		if err := unix.Unmount(v.dir, 0); err != unix.EBUSY {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unix.Unmount(v.dir, 0)
}

// drop unmounts whatever the state; a trial ends with it.
func (v *volume) drop() { _ = unix.Unmount(v.dir, unix.MNT_DETACH) }

// remount is what a new boot does: nothing is cached any more.
func (v *volume) remount() error {
	if err := v.unmount(); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	return v.mount()
}

// sync makes everything durable.
func (v *volume) sync() error {
	return v.descriptor(v.dir, unix.Syncfs)
}

// descriptor opens a file for one call.
func (v *volume) descriptor(path string, call func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return call(fd)
}

// shutdown is a power cut: from now on nothing reaches the disk.
func (v *volume) shutdown() error {
	const (
		request    = 0x8004587d // FS_IOC_SHUTDOWN
		noLogFlush = 2
	)
	how := uint32(noLogFlush)
	return v.descriptor(v.dir, func(fd int) error {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&how))); e != 0 {
			return fmt.Errorf("shut %s down: %w", v.dir, e)
		}
		return nil
	})
}

// root is where the root lies on a volume.
func (v *volume) root() string { return filepath.Join(v.dir, "root") }
