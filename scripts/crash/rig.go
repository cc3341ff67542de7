//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// rig is what all trials share: the binaries and a directory in memory.
type rig struct {
	settings
	binary string // lace
	mkroot string
	tmp    string
	env    []string // settings of lace that a rung needs

	mounting map[string]*sync.Mutex // by file system

	// of is what trials count themselves: states of the model, and faults that
	// they planted and caught.
	of struct{ states, planted, caught atomic.Int64 }
}

// journalLimit is the line that bounds the journal from below. The small roots
// of most trials have batches of some tens of KiB, so that a move has many.
// Nothing else of the binary differs from the one that is shipped.
const (
	journalFile  = "pkg/compact/plan.go"
	journalLimit = "MinJournalSize = record.MaxRecordLen\n"
	smallLimit   = "MinJournalSize = 1<<12 + 0*record.MaxRecordLen\n"
)

func newRig(s settings) (*rig, error) {
	tmp, err := os.MkdirTemp("/dev/shm", "lace-crash")
	if err != nil {
		return nil, err
	}
	g := &rig{settings: s, tmp: tmp, binary: filepath.Join(tmp, "lace"), mkroot: filepath.Join(tmp, "mkroot")}
	g.mounting = map[string]*sync.Mutex{}
	for _, f := range filesystems() {
		g.mounting[f.name] = &sync.Mutex{}
	}
	if err := g.build(); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

func (g *rig) remove() {
	if err := os.RemoveAll(g.tmp); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
	}
}

// build makes lace, with small batches allowed, and mkroot.
func (g *rig) build() error {
	if err := goBuild("-o", g.mkroot, "./scripts/mkroot"); err != nil {
		return err
	}
	if g.lace != "" {
		var err error
		g.binary, err = filepath.Abs(g.lace)
		return err
	}
	return g.overlaid(g.binary)
}

// edit is a change of one line of the source.
type edit struct{ file, old, new string }

// overlaid builds lace with small batches allowed, and with what a planted
// fault changes.
func (g *rig) overlaid(binary string, planted ...edit) error {
	replace := map[string]string{}
	for i, e := range append(planted, edit{journalFile, journalLimit, smallLimit}) {
		source, err := os.ReadFile(e.file)
		if err != nil {
			return fmt.Errorf("%w; crash is run from the top of the repository", err)
		}
		changed := strings.Replace(string(source), e.old, e.new, 1)
		if changed == string(source) {
			return fmt.Errorf("%s has no %q", e.file, e.old)
		}
		original, err := filepath.Abs(e.file)
		if err != nil {
			return err
		}
		replace[original] = fmt.Sprintf("%s-%d.go", binary, i)
		if err := os.WriteFile(replace[original], []byte(changed), 0o666); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	file := binary + "-overlay.json"
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		return err
	}
	return goBuild("-overlay", file, "-o", binary, ".")
}

// plantEdit gives a worker with a planted fault of the source its own binary.
func (w *worker) plantEdit() error {
	if w.mutant == nil || w.edited != "" {
		return nil
	}
	e, ok := edits()[w.mutant.name]
	if !ok {
		return nil
	}
	w.edited = filepath.Join(w.tmp, "lace-edited")
	return w.overlaid(w.edited, e)
}

// program is the binary that a worker runs.
func (w *worker) program() string {
	if w.edited != "" {
		return w.edited
	}
	return w.binary
}

func goBuild(args ...string) error {
	if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
