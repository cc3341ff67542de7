//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// The profiles besides the native one, as lace names them.
const (
	nodeProfile = "node"
	lmdbProfile = "lmdb"
)

// otherSubjects are the small shape in every other profile that the binary has.
func otherSubjects(g *rig) ([]*subject, error) {
	version, err := exec.Command(g.binary, "--version").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("lace --version: %w: %s", err, version)
	}
	var all []*subject
	for _, profile := range []string{nodeProfile, lmdbProfile} {
		if !strings.Contains(string(version), profile) {
			continue
		}
		s := smallShape()
		s.profile = profile
		x, err := newSubject(g, s)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// convert makes the root of the shape's profile out of a native one, which is
// removed, and keeps its files.
func (x *subject) convert(root string) error {
	stream := root + ".records"
	if err := x.run("export", root, "-q", "--output", stream); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	args := []string{"admit", root, "-q", "--create", "--profile", x.shape.profile, stream}
	if x.shape.profile == lmdbProfile {
		args = append(args, "--capacity", fmt.Sprint(x.shape.capacity))
	}
	if err := x.run(args...); err != nil {
		return err
	}
	x.files = map[string][]byte{}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "records" || e.Name() == "lock.mdb" {
			continue // the image has the one, LMDB makes the other
		}
		if x.files[e.Name()], err = os.ReadFile(filepath.Join(root, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(stream)
}

// run runs lace, which has nothing to fear.
func (x *subject) run(args ...string) error {
	if out, err := exec.Command(x.lace, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("lace %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// image reads a root. The rows of LMDB are read by lace.
func (x *subject) image(root string) (image, error) {
	if x.shape.profile != lmdbProfile {
		return readImage(root)
	}
	stream := root + ".records"
	if err := x.run("export", root, "-q", "--output", stream); err != nil {
		return image{}, err
	}
	arena, err := os.ReadFile(stream)
	return image{arena: arena}, errors.Join(err, os.Remove(stream))
}

// operate does what a profile asks of an operator who knows that the last owner
// of a root is dead.
func (x *subject) operate(root string) error {
	if x.shape.profile != nodeProfile {
		return nil
	}
	err := os.Remove(filepath.Join(root, "node-lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tears says whether a kill within a call can leave a part of it. The kernel
// writes the pages of LMDB whole, each by one call, and LMDB counts on that.
func (x *subject) tears(c trace.Call) bool { return !strings.HasSuffix(c.Path, ".mdb") }

// otherKills is a share of the kill rung for the other profiles.
func otherKills(g *rig) ([]trial, error) {
	subjects, err := otherSubjects(g)
	if err != nil {
		return nil, err
	}
	var trials []trial
	for _, x := range subjects {
		stride := 1 + len(x.calls)/30
		if g.long {
			stride = 1
		}
		for i := int(g.seed) % stride; i < len(x.calls); i += stride {
			c := x.calls[i]
			trials = append(trials, trial{fmt.Sprintf("%s: killed before call %d, %v", x.shape.profile, c.Index, c), func(w *worker) error { return w.killAt(x, c.Index, false) }})
			if x.tears(c) {
				trials = append(trials, trial{fmt.Sprintf("%s: killed within call %d, %v", x.shape.profile, c.Index, c), func(w *worker) error { return w.killAt(x, c.Index, true) }})
			}
		}
		random := 20
		if g.long {
			random = 500
		}
		for range random {
			trials = append(trials, trial{x.shape.profile + ": random moments in a row", func(w *worker) error { return w.killMoments(x) }})
		}
	}
	return trials, nil
}

// otherPower is a share of the power rung for the other profiles.
func otherPower(g *rig) ([]trial, error) {
	subjects, err := otherSubjects(g)
	if err != nil {
		return nil, err
	}
	cuts := 8
	if g.long {
		cuts = 200
	}
	var trials []trial
	for _, x := range subjects {
		order := rand.New(rand.NewPCG(g.seed, 1)).Perm(len(x.calls))
		for i := range cuts {
			f := filesystems()[i%2]
			c := x.calls[order[i%len(order)]]
			trials = append(trials, trial{fmt.Sprintf("%s: power cut on %s at call %d, %v", x.shape.profile, f.name, c.Index, c), func(w *worker) error {
				return w.power(x, f, c.Index)
			}})
		}
		f := filesystems()[0]
		trials = append(trials, trial{x.shape.profile + ": power cut on " + f.name + " behind the end", func(w *worker) error { return w.powerEnd(x, f) }})
	}
	return trials, nil
}
