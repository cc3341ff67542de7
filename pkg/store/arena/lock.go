package arena

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// releaseWait is how long the mapping of a closed store is waited for: the
// garbage collector has to find that no record holds it.
const releaseWait = 5 * time.Second

// probeTries is how many collections the first probe of arena-lock is worth, and
// probeWait how long it goes on with them when this process is known to hold the
// lock: on a busy machine the collector is late.
const (
	probeTries = 3
	probeWait  = time.Second
)

// Lock opens arena-lock anew and takes it in the given mode without waiting: a
// lock is never converted, since a refused conversion loses the lock that was
// held. The file is nil when a reader, which makes none, finds no arena-lock.
func Lock(fsys vfs.FS, dir string, mode vfs.LockMode, readOnly bool) (vfs.File, error) {
	path := filepath.Join(dir, root.ArenaLock)
	open := vfs.ReadWrite | vfs.Create
	if readOnly {
		open = vfs.ReadOnly
	}
	f, err := fsys.OpenFile(path, open)
	if readOnly && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, root.IOError("open", dir, path, err)
	}
	if err := f.TryLock(mode); err != nil {
		return nil, errors.Join(bootstrap.LockError(fsys, dir, path, "a record or mapping of this root is alive somewhere", err), f.Close())
	}
	return f, nil
}

// Probe takes arena-lock exclusively and gives it back. It gives the garbage
// collector a chance first to find records of a closed store of this process
// that nobody can reach any more.
func Probe(fsys vfs.FS, dir string) error {
	f, err := Lock(fsys, dir, vfs.ExclusiveLock, false)
	deadline := time.Now().Add(probeWait)
	for tries := 0; errors.Is(err, store.Busy); tries++ {
		if tries >= probeTries && (time.Now().After(deadline) || !heldHere(fsys, dir)) {
			break
		}
		runtime.GC()
		time.Sleep(bootstrap.LockPoll)
		f, err = Lock(fsys, dir, vfs.ExclusiveLock, false)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.Unlock(), f.Close()); err != nil {
		return root.IOError("unlock", dir, filepath.Join(dir, root.ArenaLock), err)
	}
	return nil
}

// heldHere reports whether this process holds arena-lock, as far as the system
// tells.
func heldHere(fsys vfs.FS, dir string) bool {
	return slices.ContainsFunc(vfs.LockHolders(fsys, filepath.Join(dir, root.ArenaLock)), func(h vfs.Holder) bool { return h.PID == os.Getpid() })
}

// AwaitRelease waits until nothing holds the mapping of a closed store.
func AwaitRelease(dir string, released <-chan struct{}) error {
	select {
	case <-released: // nothing to collect is the common case
		return nil
	default:
	}
	for deadline := time.Now().Add(releaseWait); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-released:
			return nil
		case <-time.After(bootstrap.LockPoll):
		}
	}
	return &store.Error{
		Kind: store.Store, Reason: store.Busy, Doing: "compact", Root: dir,
		Found: "a record of this root is still alive in this process",
	}
}

// Exclusively holds arena-lock exclusively and the arena open for positional
// reads and writes while f runs.
func Exclusively[T any](fsys vfs.FS, dir string, f func(arena vfs.File) (T, error)) (T, error) {
	var none T
	lock, err := Lock(fsys, dir, vfs.ExclusiveLock, false)
	if err != nil {
		return none, err
	}
	path := filepath.Join(dir, root.Records)
	arena, err := fsys.OpenFile(path, vfs.ReadWrite)
	if errors.Is(err, fs.ErrNotExist) {
		// Only who resumes gets here without having opened the root.
		return none, errors.Join(root.Corrupt(dir, path, "", "no arena", "the bytes of the records"), lock.Close())
	}
	if err != nil {
		return none, errors.Join(root.IOError("open", dir, path, err), lock.Close())
	}
	result, err := f(arena)
	// The last sync of the arena is behind us; a close that reports an error
	// all the same makes the run doubtful.
	if e := arena.Close(); e != nil {
		err = errors.Join(err, root.Resumable(root.IOError("close", dir, path, e), dir))
	}
	if e := errors.Join(lock.Unlock(), lock.Close()); e != nil {
		err = errors.Join(err, root.Resumable(root.IOError("unlock", dir, filepath.Join(dir, root.ArenaLock), e), dir))
	}
	return result, err
}
