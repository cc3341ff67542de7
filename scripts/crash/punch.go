//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// punchRung compacts where the inside of a file cannot be freed.
func punchRung() rung {
	return rung{name: "punch", root: true, trials: punchTrials, mutants: []mutant{
		{"a refused punch is taken for done", "", func(c trace.Call, a trace.Action) trace.Action {
			if c.Name == "fallocate" {
				return trace.Action{Skip: true}
			}
			return a
		}},
	}}
}

func punchTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	return []trial{
		{"ramfs", func(w *worker) error { return w.punch(x, "ramfs", 0) }},
		{"tmpfs frees", func(w *worker) error { return w.punch(x, "tmpfs", 0) }},
		{"EOPNOTSUPP", func(w *worker) error { return w.punch(x, "tmpfs", unix.EOPNOTSUPP) }},
		{"ENOSYS", func(w *worker) error { return w.punch(x, "tmpfs", unix.ENOSYS) }},
		{"EPERM", func(w *worker) error { return w.punch(x, "tmpfs", unix.EPERM) }},
	}, nil
}

// punch compacts and compares what is said of the release with what the file
// system shows. A punch that is not permitted may be told as a failure; the
// root is resumable then.
func (w *worker) punch(x *subject, fs string, errno unix.Errno) error {
	v := &volume{dir: filepath.Join(w.dir, "mount")}
	if err := os.Mkdir(v.dir, 0o777); err != nil {
		return err
	}
	if err := unix.Mount("lace-crash", v.dir, fs, 0, ""); err != nil {
		return err
	}
	defer v.drop()
	if err := x.plant(v.root()); err != nil {
		return err
	}
	e, err := w.traced(v.root(), func(c trace.Call) trace.Action {
		if c.Name == "fallocate" {
			return trace.Action{Errno: errno}
		}
		return trace.Action{}
	}, append(x.compact(v.root()), "--json")...)
	if err != nil {
		return err
	}
	if e.code == 1 && errno == unix.EPERM {
		return w.settle(x, v.root())
	}
	if e.code != 0 {
		return fmt.Errorf("%v", e)
	}
	var said struct {
		Release   string `json:"release"`
		Released  uint64 `json:"released_bytes"`
		NotFreed  string `json:"not_freed_reason"`
		Outcome   string `json:"outcome"`
		Allocated uint64 `json:"allocated_after"`
	}
	if err := json.Unmarshal([]byte(e.out), &said); err != nil {
		return fmt.Errorf("%w: %s", err, e.out)
	}
	freed, err := x.freed(v.root())
	if err != nil {
		return err
	}
	switch {
	case freed && (said.Release != "punched" || said.Released == 0):
		return fmt.Errorf("bytes were freed, but it says %+v", said)
	case !freed && (said.Release != "unsupported" || said.Released != 0 || said.NotFreed == ""):
		return fmt.Errorf("no bytes were freed, but it says %+v", said)
	}
	return w.settle(x, v.root())
}

// freed says whether the arena holds nothing behind its new end.
func (x *subject) freed(root string) (bool, error) {
	f, err := os.Open(filepath.Join(root, "records"))
	if err != nil {
		return false, err
	}
	defer f.Close()
	tail := make([]byte, len(x.old.arena)-len(x.new.arena))
	if _, err := f.ReadAt(tail, int64(len(x.new.arena))); err != nil {
		return false, err
	}
	for _, b := range tail {
		if b != 0 {
			return false, nil
		}
	}
	return true, nil
}
