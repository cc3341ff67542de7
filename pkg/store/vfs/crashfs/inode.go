package crashfs

import (
	"slices"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// inode is a file or a directory. Each has two states: what the machine shows
// now, and what is on the disk for certain; the changes between the two are
// pending.
type inode struct {
	id   uint64
	kind vfs.Type
	name string // the last name it was given, for descriptions

	cache, disk content
	pending     []change
	lost        bool // a failed sync made cache and disk differ beyond pending
	writeError  bool // a failed write-back that the next sync reports

	entries, diskEntries table[string, uint64]
	pendingEntries       []entryChange
}

// share returns a copy for another file system.
func (n *inode) share() *inode {
	twin := *n
	twin.cache, twin.disk = n.cache.share(), n.disk.share()
	twin.entries, twin.diskEntries = n.entries.share(), n.diskEntries.share()
	twin.pending = slices.Clip(n.pending)
	twin.pendingEntries = slices.Clip(n.pendingEntries)
	return &twin
}

// change is one unsynced change of a file.
type change struct {
	kind     changeKind
	off, n   int64     // the bytes written or punched
	versions []version // the sectors it changed, as they were after it
	sized    bool      // it changed the size, to size
	size     int64
}

type changeKind uint8

const (
	written changeKind = iota
	punched
	truncated
)

// entryChange is one unsynced change of a directory: name now is id, or is
// gone when id is 0. The two halves of a rename have the same order.
type entryChange struct {
	name  string
	id    uint64
	order uint64
}

// apply makes the change in the cache and notes it as pending.
func (n *inode) apply(c change) {
	if c.kind == truncated {
		n.cache.cut(c.size)
	} else {
		for _, v := range c.versions {
			n.cache.put(v.index, v.data)
		}
		if c.sized {
			n.cache.size = c.size
		}
	}
	n.pending = append(n.pending, c)
}

// fate answers for one change what a crash or a failed sync leaves of it.
type fate struct {
	size bool                   // its size reaches the disk
	data func(index int64) bool // this sector of it does
}

// settle returns the disk with what of the pending changes has reached it. A
// size that reached it brings every earlier truncation along, because a
// journal keeps the order of those: bytes cut off never come back below it.
func (n *inode) settle(fates func(i int) fate) content {
	disk := n.disk.share()
	left := make([]fate, len(n.pending))
	sizedBy := -1
	for i, c := range n.pending {
		left[i] = fates(i)
		if c.sized && left[i].size {
			sizedBy = i
		}
	}
	size := disk.size
	if sizedBy >= 0 {
		size = n.pending[sizedBy].size
	}
	for i, c := range n.pending {
		if c.kind == truncated && i <= sizedBy {
			disk.cut(c.size)
		}
		for _, v := range c.versions {
			if left[i].data(v.index) {
				disk.put(v.index, v.data)
			}
		}
	}
	disk.size = size
	return disk
}

func everySector(int64) bool { return true }

// flush is a sync that works: every pending change reaches the disk.
func (n *inode) flush() {
	n.disk = n.settle(func(int) fate { return fate{size: true, data: everySector} })
	n.pending = nil
}

// setEntry changes the directory in the cache and notes that as pending.
func (n *inode) setEntry(c entryChange) {
	putEntry(&n.entries, c)
	n.pendingEntries = append(n.pendingEntries, c)
}

func putEntry(entries *table[string, uint64], c entryChange) {
	if c.id == 0 {
		entries.remove(c.name)
	} else {
		entries.set(c.name, c.id)
	}
}

// settleEntries returns the directory on the disk with what of the pending
// changes has reached it.
func (n *inode) settleEntries(kept func(i int) bool) table[string, uint64] {
	disk := n.diskEntries.share()
	for i, c := range n.pendingEntries {
		if kept(i) {
			putEntry(&disk, c)
		}
	}
	return disk
}

func (n *inode) flushEntries() {
	n.diskEntries = n.settleEntries(func(int) bool { return true })
	n.pendingEntries = nil
}
