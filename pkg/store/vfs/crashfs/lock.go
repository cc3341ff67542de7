package crashfs

import (
	"github.com/lace-store/lace/pkg/store/vfs"
)

// TryLock takes a lock that belongs to this open file, as flock does.
func (h *file) TryLock(mode vfs.LockMode) error {
	defer h.leave()
	if err := h.enter("lock", false); err != nil {
		return err
	}
	holders := h.fs.locks[h.node]
	if holders[h] != 0 {
		return pathError("lock", h.path, vfs.ErrLockHeld)
	}
	for _, other := range holders {
		if mode == vfs.ExclusiveLock || other == vfs.ExclusiveLock {
			return pathError("lock", h.path, vfs.ErrLocked)
		}
	}
	if holders == nil {
		holders = map[*file]vfs.LockMode{}
		h.fs.locks[h.node] = holders
	}
	holders[h] = mode
	return nil
}

func (h *file) Unlock() error {
	defer h.leave()
	if err := h.enter("unlock", false); err != nil {
		return err
	}
	h.unlock()
	return nil
}

func (h *file) unlock() {
	delete(h.fs.locks[h.node], h)
	if len(h.fs.locks[h.node]) == 0 {
		delete(h.fs.locks, h.node)
	}
}
