//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// limitsRung compacts with little room for the process: short files, few open
// files, a small address space; and a tebibyte with a hundred records.
func limitsRung() rung {
	return rung{name: "limits", needs: []string{"sh"}, trials: limitsTrials, mutants: []mutant{
		{"rows are not written", "tebibyte", func(c trace.Call, a trace.Action) trace.Action {
			a.Skip = a.Skip || c.IsWrite() && c.Path == "records"
			return a
		}},
	}}
}

func limitsTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	s := shape{records: 100, min: 10, max: 4000, seed: 31, policy: "Lot", journal: 60 << 10, capacity: 1 << 40}
	big, err := newSubject(g, s)
	if err != nil {
		return nil, err
	}
	trials := []trial{{"a tebibyte with 100 records", func(w *worker) error { return w.tebibyte(big) }}}
	add := func(flag string, unit string, values ...int) {
		for _, v := range values {
			limit := fmt.Sprintf("ulimit %s %d", flag, v)
			trials = append(trials, trial{fmt.Sprintf("%s of %d %s", limit, v, unit), func(w *worker) error { return w.limited(x, limit) }})
		}
	}
	add("-f", "blocks of 512 bytes", 0, 1, 2, 8, 16, 32, 64, 100, 120, 200, 313, 400, 1000, 2047, 2048)
	add("-n", "open files", 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 32)
	add("-v", "KiB", 50_000, 100_000, 300_000, 800_000, 1_200_000, 2_000_000, 4_000_000)
	return trials, nil
}

// limited compacts under a limit, resumes under it, and then without.
func (w *worker) limited(x *subject, limit string) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	for _, line := range [][]string{x.compact(root), {"resume", root, "-q"}} {
		c := exec.Command("sh", append([]string{"-c", limit + ` && exec "$0" "$@"`, w.program()}, line...)...)
		c.Dir, c.Env = w.dir, environment()
		out, err := c.CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			return err
		}
		if code := c.ProcessState.ExitCode(); code < 0 || broken(string(out), limit) {
			return fmt.Errorf("lace %s: %v: %.300s", line[0], c.ProcessState, out)
		}
	}
	return w.settle(x, root)
}

// broken says that lace ended without a word of its own. With little address
// space or few open files the Go runtime itself may not get what it needs.
func broken(out, limit string) bool {
	if strings.Contains(out, "panic: ") {
		return true
	}
	return strings.Contains(out, "goroutine ") && (strings.Contains(limit, "-f") || !strings.Contains(out, "fatal error: "))
}

// tebibyte compacts a root that is nearly all hole.
func (w *worker) tebibyte(x *subject) error {
	root := filepath.Join(w.dir, "root")
	if err := x.plant(root); err != nil {
		return err
	}
	e, err := w.traced(root, nothing, x.compact(root)...)
	if err == nil && e.code != 0 {
		err = fmt.Errorf("%v", e)
	}
	if err != nil {
		return err
	}
	if err := x.is(root, x.new); err != nil {
		return err
	}
	if err := w.succeeds("verify", root, "-q"); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(root, "records"), &st); err != nil {
		return err
	}
	if most := int64(len(x.new.arena)) + int64(os.Getpagesize()); st.Size != int64(x.shape.capacity) || st.Blocks*512 > most {
		return fmt.Errorf("the arena has %d bytes, %d of them allocated, want %d and at most %d", st.Size, st.Blocks*512, x.shape.capacity, most)
	}
	return nil
}
