package vfstest

import (
	"github.com/lace-store/lace/pkg/store/vfs"
)

func locks(e *env) {
	e.write("a", "")
	a, b, c := e.open("a", vfs.ReadWrite), e.open("a", vfs.ReadWrite), e.open("a", vfs.ReadWrite)
	e.ok(a.Unlock())
	e.ok(a.TryLock(vfs.ExclusiveLock))
	e.is("exclusive beside exclusive", b.TryLock(vfs.ExclusiveLock), vfs.ErrLocked)
	e.is("shared beside exclusive", b.TryLock(vfs.Shared), vfs.ErrLocked)
	e.ok(b.Unlock())
	e.is("unlock by another", b.TryLock(vfs.Shared), vfs.ErrLocked)
	e.ok(a.Unlock())
	e.ok(a.TryLock(vfs.Shared))
	e.ok(b.TryLock(vfs.Shared))
	e.is("exclusive beside shared", c.TryLock(vfs.ExclusiveLock), vfs.ErrLocked)
	e.ok(a.Close())
	e.is("exclusive beside the other shared", c.TryLock(vfs.ExclusiveLock), vfs.ErrLocked)
	e.ok(b.Close())
	e.ok(c.TryLock(vfs.ExclusiveLock))
	r := e.open("a", vfs.ReadOnly)
	e.is("read-only handle beside exclusive", r.TryLock(vfs.Shared), vfs.ErrLocked)
	e.ok(c.Unlock())
	e.ok(r.TryLock(vfs.ExclusiveLock))
}

func lockConversion(e *env) {
	e.write("a", "")
	a, b := e.open("a", vfs.ReadWrite), e.open("a", vfs.ReadWrite)
	e.ok(a.TryLock(vfs.Shared))
	for _, mode := range []vfs.LockMode{vfs.Shared, vfs.ExclusiveLock} {
		e.is("a second lock", a.TryLock(mode), vfs.ErrLockHeld)
	}
	e.is("beside the kept one", b.TryLock(vfs.ExclusiveLock), vfs.ErrLocked)
	e.ok(b.TryLock(vfs.Shared))
}

// lockIdentity: a lock is on the file, not on its name.
func lockIdentity(e *env) {
	e.write("a", "")
	a := e.open("a", vfs.ReadWrite)
	e.ok(a.TryLock(vfs.ExclusiveLock))
	e.ok(e.fs.Rename(e.at("a"), e.at("b")))
	e.is("under the new name", e.open("b", vfs.ReadWrite).TryLock(vfs.Shared), vfs.ErrLocked)
	e.write("a", "")
	e.ok(e.open("a", vfs.ReadWrite).TryLock(vfs.ExclusiveLock))
}
