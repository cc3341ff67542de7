package osfs

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A file system that counts no blocks or inodes at all is not full.
func TestSpaceThatIsNotCounted(t *testing.T) {
	for _, c := range []struct {
		name          string
		st            unix.Statfs_t
		bytes, inodes int64
	}{
		{"ramfs", unix.Statfs_t{Type: unix.RAMFS_MAGIC, Bsize: 4096}, -1, -1},
		{"btrfs", unix.Statfs_t{Type: unix.BTRFS_SUPER_MAGIC, Bsize: 4096, Blocks: 10, Bavail: 3}, 3 * 4096, -1},
		{"full", unix.Statfs_t{Type: unix.EXT4_SUPER_MAGIC, Bsize: 4096, Blocks: 10, Files: 10}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			space := spaceOf(&c.st)
			if space.FreeBytes != c.bytes || space.FreeInodes != c.inodes {
				t.Errorf("%d bytes and %d inodes are free, want %d and %d", space.FreeBytes, space.FreeInodes, c.bytes, c.inodes)
			}
		})
	}
}
