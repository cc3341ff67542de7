package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// LockPoll is the time between two tries of a lock that is waited for.
const LockPoll = 20 * time.Millisecond

// TellAfter is how long a wait lasts before it is told.
const TellAfter = time.Second / 2

// wait is how long the bootstrap lock is tried before LockWait counts: openers
// hold it for moments only.
const wait = time.Second

// LockWithin takes a lock of f, trying for at most wait. It is vfs.ErrLocked
// when the lock is not to be had, and the context's error when that ends first.
// A wait of more than a moment is told once.
func LockWithin(ctx context.Context, f vfs.File, mode vfs.LockMode, wait time.Duration, waiting func()) error {
	begin := time.Now()
	deadline := begin.Add(wait)
	for told := false; ; {
		err := f.TryLock(mode)
		if !errors.Is(err, vfs.ErrLocked) || !time.Now().Before(deadline) {
			return err
		}
		if !told && waiting != nil && time.Since(begin) >= TellAfter {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(LockPoll, time.Until(deadline))):
		}
	}
}

// TellWaiting is what LockWithin calls when the options want to know.
func TellWaiting(o profile.Options, what string) func() {
	if o.Waiting == nil {
		return nil
	}
	return func() { o.Waiting(what) }
}

// LockError turns a refused lock into a Busy error that names the holder where
// the system tells.
func LockError(fsys vfs.FS, dir, path, why string, err error) error {
	if !errors.Is(err, vfs.ErrLocked) {
		return root.IOError("lock", dir, path, err)
	}
	var holders []string
	for _, h := range vfs.LockHolders(fsys, path) {
		// A process names itself as it likes.
		holders = append(holders, fmt.Sprintf("process %d %q", h.PID, h.Command))
	}
	if len(holders) > 0 {
		why += ": " + strings.Join(holders, ", ")
	}
	return &store.Error{
		Kind: store.Store, Reason: store.Busy, Doing: "lock", Root: dir, Path: path, Found: why,
		Hint: "wait until it is closed, or name a --lock-wait", Err: err,
	}
}
