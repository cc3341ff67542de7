//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// nothing lets every call be.
func nothing(trace.Call) trace.Action { return trace.Action{} }

// leftovers are the files of an interrupted compaction that a root holds.
func leftovers(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "compaction-") || strings.HasSuffix(e.Name(), ".lace-tmp") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// opened is the first half of the oracle: an ordinary opening is refused with
// the hint to resume, or the root is wholly old or wholly new.
func (w *worker) opened(x *subject, root string) error {
	if err := x.operate(root); err != nil {
		return err
	}
	left, err := leftovers(root)
	if err != nil {
		return err
	}
	e, err := w.lace("sweep", root, "--dry-run", "-q", "-p", x.policy)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		if e.code != 12 || !strings.Contains(e.err, "lace resume "+root) {
			return fmt.Errorf("opened with %v: %v", left, e)
		}
		return nil
	}
	if e.code != 0 {
		return fmt.Errorf("no compaction files, but %v", e)
	}
	return x.is(root, x.old, x.new)
}

// is compares a root with what it may be.
func (x *subject) is(root string, may ...image) error {
	m, err := x.image(root)
	if err != nil {
		return err
	}
	for _, i := range may {
		if m.equal(i) {
			return nil
		}
	}
	what := "the root is neither old nor new"
	if len(may) == 1 {
		what = "the root differs from that of an uninterrupted run"
	}
	at := 0
	for want := may[len(may)-1]; at < min(len(want.arena), len(m.arena)) && want.arena[at] == m.arena[at]; at++ {
	}
	return fmt.Errorf("%s: %d rows, want %d; arena as wanted up to byte %d of %d", what, len(m.log)/rowLen, len(may[len(may)-1].log)/rowLen, at, len(m.arena))
}

// settle is the whole oracle.
func (w *worker) settle(x *subject, root string) error {
	if err := w.opened(x, root); err != nil {
		return err
	}
	return w.resumed(x, root)
}

// resumed is the second half: one resume later the root is that of an
// uninterrupted run, or the old one if the compaction had not begun, and then
// it can be compacted.
func (w *worker) resumed(x *subject, root string) error {
	_, err := os.Lstat(filepath.Join(root, "compaction-state"))
	begun := err == nil
	if err := x.operate(root); err != nil {
		return err
	}
	if err := w.succeeds("resume", root, "-q"); err != nil {
		return err
	}
	if left, err := leftovers(root); err != nil || len(left) > 0 {
		return fmt.Errorf("a resume left %v (%v)", left, err)
	}
	if begun {
		return w.finished(x, root)
	}
	if err := x.is(root, x.old, x.new); err != nil {
		return err
	}
	if err := w.succeeds(x.compact(root)...); err != nil {
		return err
	}
	return w.finished(x, root)
}

// finished checks the root of an uninterrupted run, and the databases that LMDB
// has beside the records.
func (w *worker) finished(x *subject, root string) error {
	if x.shape.profile == lmdbProfile {
		if err := w.succeeds("verify", root, "-q", "--indexes"); err != nil {
			return err
		}
	}
	return x.is(root, x.new)
}

// succeeds runs lace and wants exit 0.
func (w *worker) succeeds(args ...string) error {
	e, err := w.lace(args...)
	if err == nil && e.code != 0 {
		err = fmt.Errorf("%v", e)
	}
	return err
}
