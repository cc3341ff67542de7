package crashfs

import "syscall"

// Lie says what the cache shows after a sync has failed.
type Lie uint8

// The lies. With the first two, whatever did not reach the disk is forgotten:
// it counts as clean, and later syncs succeed without writing it.
const (
	// CleanAndNew: reads still show what was written and is not on the disk,
	// until DropCache or Evict.
	CleanAndNew Lie = iota + 1
	// CleanAndOld: reads show what is on the disk.
	CleanAndOld
	// ShutDown: the file system stops, as journals do. Every later call returns
	// the error, until a Crash.
	ShutDown
)

// failure is a sync that is to fail.
type failure struct {
	at   int // the first sync at or after this call; 0 is none
	lie  Lie
	seed uint64
	done bool
}

// FailSync makes the first Sync or SyncDir at or after the at-th call fail with
// EIO, once. The seed chooses what of the changes still reaches the disk.
func (f *FS) FailSync(at int, lie Lie, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = failure{at: at, lie: lie, seed: seed}
}

// SyncFailed says whether the failure asked for has happened.
func (f *FS) SyncFailed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure.done
}

// LoseWriteback is a disk that fails while nobody syncs: of every pending
// change of every file, the seed chooses what reaches the disk and what is
// forgotten, and the cache goes on showing it. With report, the next Sync of
// such a file returns EIO; without, nobody ever hears of it.
func (f *FS) LoseWriteback(seed uint64, report bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.reachable() {
		if len(n.pending) > 0 {
			n.lose(CleanAndNew, seed^n.id)
			n.writeError = report
		}
	}
}

// Evict forgets a choice of the clean sectors in the cache, as memory pressure
// does. Only after a failed sync can that be seen.
func (f *FS) Evict(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.reachable() {
		n.forget(func(index int64) bool { return mix(seed, n.id, uint64(index))&1 == 0 })
	}
}

// sync makes a file or a directory durable, or fails to. The caller holds the
// mutex.
func (f *FS) sync(op, path string, n *inode) error {
	f.calls++
	if f.calls == f.crashAt {
		f.down = ErrCrashed
		return pathError(op, path, ErrCrashed)
	}
	if fail := &f.failure; fail.at > 0 && !fail.done && f.calls >= fail.at {
		fail.done = true
		if fail.lie == ShutDown {
			f.down = syscall.EIO
		} else {
			n.lose(fail.lie, fail.seed)
		}
		return pathError(op, path, syscall.EIO)
	}
	n.flush()
	n.flushEntries()
	if n.writeError {
		n.writeError = false
		return pathError(op, path, syscall.EIO)
	}
	return nil
}

// lose is a write-back that fails: what the seed chooses reaches the disk, the
// rest is forgotten.
func (n *inode) lose(lie Lie, seed uint64) {
	chosen, thing := Random(seed), 0
	n.disk = n.settle(func(i int) fate { return chosen.fate(n.pending[i], &thing) })
	n.diskEntries = n.settleEntries(func(int) bool {
		thing++
		return chosen.kept(thing-1, 0)
	})
	n.lost = true
	dirty := n.pending
	n.pending, n.pendingEntries = nil, nil
	if lie != CleanAndOld {
		return
	}
	for _, c := range dirty {
		for _, v := range c.versions {
			n.cache.put(v.index, n.disk.sectors.m[v.index])
		}
	}
	n.cache.cut(n.cache.size) // the size is kept apart, and stays
	n.entries = n.diskEntries.share()
}

// forget reads the chosen clean sectors from the disk again.
func (n *inode) forget(chosen func(index int64) bool) {
	if !n.lost {
		return // every clean sector shows what the disk has
	}
	dirty := map[int64]bool{}
	for _, c := range n.pending {
		for _, v := range c.versions {
			dirty[v.index] = true
		}
	}
	reload := func(index int64) {
		if !dirty[index] && chosen(index) {
			n.cache.put(index, n.disk.sectors.m[index])
		}
	}
	for index := range n.disk.sectors.m {
		reload(index)
	}
	for index := range n.cache.sectors.m {
		reload(index)
	}
	n.cache.cut(n.cache.size)
}
