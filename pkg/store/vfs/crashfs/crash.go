package crashfs

// Crash returns the file system as it is after the power was cut now and the
// machine has booted again. What is durable is there; of the rest, what s
// chooses. Everything that is there is durable then. Handles and locks are
// gone and Calls starts from 0. The file system that crashed is not changed,
// so one crash can be tried with many survivors.
func (f *FS) Crash(s Survivors) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := uint64(0)
	if f.options.OrderedEntries {
		last = s.lastEntry(f.things())
	}
	settled := map[uint64]*inode{}
	number := 0
	for _, n := range f.reachable() {
		settled[n.id] = f.reboot(n, s, last, &number)
	}
	twin := fresh(f.options)
	twin.nextID, twin.order = f.nextID, f.order
	adopt(twin, settled, rootID)
	return twin
}

// reboot returns what is on the disk of one inode, with its survivors.
func (f *FS) reboot(n *inode, s Survivors, last uint64, number *int) *inode {
	after := &inode{id: n.id, kind: n.kind, name: n.name}
	after.disk = n.settle(func(i int) fate { return s.fate(n.pending[i], number) })
	// Bytes behind the size that survived are lost with the size that did not.
	after.disk.cut(after.disk.size)
	after.cache = after.disk.share()
	after.diskEntries = n.settleEntries(func(i int) bool {
		*number++
		if f.options.OrderedEntries {
			return n.pendingEntries[i].order <= last
		}
		return s.kept(*number-1, 0)
	})
	after.entries = after.diskEntries.share()
	return after
}

// adopt takes over the inodes that the surviving entries lead to.
func adopt(twin *FS, settled map[uint64]*inode, id uint64) {
	if twin.inodes[id] != nil {
		return
	}
	n := settled[id]
	twin.inodes[id] = n
	for _, child := range n.entries.m {
		adopt(twin, settled, child)
	}
}
