//go:build linux && amd64

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// shape says what root is compacted, and how.
type shape struct {
	records  int
	min, max int // data of a record, in bytes
	seed     uint64
	policy   string
	journal  int    // bytes
	capacity int    // bytes
	profile  string // empty is native
}

func (s shape) String() string {
	return fmt.Sprintf("%d records of %d to %d bytes, seed %d, journal %d, %s", s.records, s.min, s.max, s.seed, s.journal, s.policy)
}

// smallShape is the one that every rung uses. The gaps in it are shorter than
// the records, so that rows overlap their own destinations and every batch
// needs its journal.
func smallShape() shape {
	return shape{records: 70, min: 10, max: 4000, seed: 26, policy: "Few", journal: 60 << 10, capacity: 1 << 20}
}

// randomShape is for the long forms.
func randomShape(r *rand.Rand) shape {
	s := shape{records: 20 + r.IntN(100), min: 1, max: 1 + r.IntN(8000), seed: r.Uint64N(1 << 30), capacity: 2 << 20}
	s.policy = []string{"Half", "Few", "Lot", "Pin"}[r.IntN(4)]
	s.journal = s.max + 4096 + r.IntN(64<<10)
	return s
}

// policies are what a shape may keep, by the extra headers of made records.
func policyText(name string) string {
	return map[string]string{
		"Half": "SelectStoredRecord(R) :- Field(R,'Half',_,'a').\n",
		"Few":  "SelectStoredRecord(R) :- Have(R), not Field(R,'Lot',_,'07'), not Field(R,'Lot',_,'42'), not Field(R,'Lot',_,'61').\n",
		// All but a few, early ones among them.
		"Lot": "SelectStoredRecord(R) :- Have(R), not Field(R,'Lot',_,'07'), not Field(R,'Lot',_,'42').\n",
		// A few that lie far apart.
		"Pin": "SelectStoredRecord(R) :- Field(R,'Lot',_,'07').\nSelectStoredRecord(R) :- Field(R,'Lot',_,'93').\n",
	}[name]
}

// image is what a root holds.
type image struct {
	log   []byte
	arena []byte // up to the end of the last row
}

// subject is a root before and after an uninterrupted compaction.
type subject struct {
	shape    shape
	policy   string // file
	old, new image
	calls    []trace.Call      // mutating calls of the compaction
	lace     string            // the binary
	files    map[string][]byte // of another profile than the native one, but for records
}

// newSubject makes the root, compacts a copy, and keeps both in memory.
func newSubject(g *rig, s shape) (*subject, error) {
	dir, err := os.MkdirTemp(g.tmp, "subject")
	if err != nil {
		return nil, err
	}
	x := &subject{shape: s, policy: filepath.Join(dir, s.policy+".lace"), lace: g.binary}
	if err := os.WriteFile(x.policy, []byte(policyText(s.policy)), 0o666); err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "root")
	made := exec.Command(g.mkroot, "--records", fmt.Sprint(s.records), "--min-size", fmt.Sprint(s.min), "--max-size", fmt.Sprint(s.max),
		"--seed", fmt.Sprint(s.seed), "--capacity", fmt.Sprint(s.capacity), root)
	if out, err := made.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mkroot: %w: %s", err, out)
	}
	if s.profile != "" {
		if err := x.convert(root); err != nil {
			return nil, err
		}
	}
	if x.old, err = x.image(root); err != nil {
		return nil, err
	}
	w := &worker{rig: g, dir: dir}
	e, err := w.traced(root, func(c trace.Call) trace.Action {
		if c.Mutates {
			x.calls = append(x.calls, c)
		}
		return trace.Action{}
	}, x.compact(root)...)
	if err == nil && e.code == exitGuard {
		return nil, fmt.Errorf("%s: %w: %v", s, errUnchanged, e)
	}
	if err != nil || e.code != 0 {
		return nil, fmt.Errorf("%s: %v (%v)", s, e, err)
	}
	if x.new, err = x.image(root); err != nil {
		return nil, err
	}
	if x.old.equal(x.new) {
		return nil, fmt.Errorf("%s: %w", s, errUnchanged)
	}
	return x, os.RemoveAll(root)
}

// exitGuard is the exit of a compaction that would keep nothing.
const exitGuard = 15

// errUnchanged is a shape without anything to remove, or to keep.
var errUnchanged = errors.New("the compaction changes nothing")

// newSubjects makes the small subject and some random ones. A shape that has
// nothing to remove, or to keep, is drawn again.
func newSubjects(g *rig, random int) ([]*subject, error) {
	small, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	all, draw := []*subject{small}, rand.New(rand.NewPCG(g.seed, 0))
	for len(all) <= random {
		x, err := newSubject(g, randomShape(draw))
		if errors.Is(err, errUnchanged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// compact is the command line of a compaction.
func (x *subject) compact(root string) []string {
	return []string{"compact", root, "-q", "--max-removed", "100%", "-p", x.policy, "--journal-size", fmt.Sprint(x.shape.journal)}
}

const (
	rowLen = 64
	marker = "lace-native-filesystem-shaped-store/6\n"
)

// readImage reads a root as its format says, without lace.
func readImage(root string) (image, error) {
	var m image
	var err error
	if m.log, err = os.ReadFile(filepath.Join(root, "record-log")); err != nil {
		return m, err
	}
	if len(m.log)%rowLen != 0 {
		return m, fmt.Errorf("record-log has %d bytes, no whole number of rows", len(m.log))
	}
	end := int64(0)
	if n := len(m.log); n > 0 {
		end = int64(binary.LittleEndian.Uint64(m.log[n-16:]) + binary.LittleEndian.Uint64(m.log[n-8:]))
	}
	f, err := os.Open(filepath.Join(root, "records"))
	if err != nil {
		return m, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return m, err
	}
	if end < 0 || end > info.Size() {
		return m, fmt.Errorf("record-log ends at %d, the arena at %d", end, info.Size())
	}
	m.arena = make([]byte, end)
	_, err = f.ReadAt(m.arena, 0)
	return m, err
}

func (m image) equal(o image) bool { return bytes.Equal(m.log, o.log) && bytes.Equal(m.arena, o.arena) }

// plant writes the old root. Nothing is synced.
func (x *subject) plant(root string) error {
	if err := os.Mkdir(root, 0o777); err != nil {
		return err
	}
	files := map[string][]byte{"store-format": []byte(marker), "lock": nil, "arena-lock": nil, "record-log": x.old.log}
	if x.files != nil {
		files = maps.Clone(x.files)
	}
	files["records"] = x.old.arena
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o666); err != nil {
			return err
		}
	}
	if x.shape.profile == nodeProfile {
		return nil // its arena has the committed length
	}
	return os.Truncate(filepath.Join(root, "records"), int64(x.shape.capacity))
}
