//go:build cgo

package lmdb_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// modelled is the profile on a model file system, with its environment in a
// directory of the system, and its commits noted in a transcript.
func modelled(env string, noted *faultfs.FS) profiletest.Subject {
	p := lmdb.Quick().In(env).Batches(3)
	if noted != nil {
		p = p.Committing(func() error { return noted.Note(faultfs.Commit, filepath.Join(profiletest.Dir, root.LMDBData)) })
	}
	return profiletest.Subject{Profile: p, Capacity: minCapacity}
}

// forked copies the environment of a subject for a copy of its root.
func forked(t *testing.T, of profiletest.Subject, noted *faultfs.FS) profiletest.Subject {
	t.Helper()
	env := t.TempDir()
	b, err := os.ReadFile(filepath.Join(lmdb.EnvOf(of.Profile.(lmdb.Profile)), root.LMDBData))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(env, root.LMDBData), b, 0o666))
	return modelled(env, noted)
}

// TestTranscriptsOfAStore pins the order of durability of making a root, opening
// it and admitting to it: bytes before the commit of their rows.
func TestTranscriptsOfAStore(t *testing.T) {
	for _, c := range []struct {
		name   string
		unmade bool
		act    func(profile.Store) error
	}{
		{name: "create", unmade: true},
		{name: "open"},
		{name: "admit", act: func(s profile.Store) error { _, err := profiletest.Admit(s, blobs(10, 13)...); return err }},
		{name: "admit-duplicates", act: func(s profile.Store) error { _, err := profiletest.Admit(s, blob(1)); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := t.TempDir()
			session := profiletest.Session{Name: c.name, Act: c.act}
			session.Open = func(fsys vfs.FS) (profile.Store, error) {
				s := modelled(env, fsys.(*faultfs.FS))
				if c.unmade {
					return s.Create(t.Context(), fsys, profiletest.Dir)
				}
				return s.OpenStore(t.Context(), fsys, profiletest.Dir)
			}
			if !c.unmade {
				session.Base = func(t *testing.T, f *crashfs.FS) {
					modelled(env, nil).MakeRoot(t, f, profiletest.Dir, blobs(0, 3)...)
				}
			}
			profiletest.Transcripts{Update: *update}.Run(t, session)
		})
	}
}

// TestTranscriptsOfACompaction pins the order of durability of a compaction, the
// commits of its reload among it, and of the resume from every phase.
func TestTranscriptsOfACompaction(t *testing.T) {
	profiletest.Transcripts{Subject: modelled(t.TempDir(), nil), Update: *update, Fork: forked}.Compaction(t, profiletest.Phases(
		profiletest.Phase{Name: "d-state", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 5},
		profiletest.Phase{Name: "d-first-commit", Op: faultfs.Commit, Path: root.LMDBData, Nth: 1},
		profiletest.Phase{Name: "d-second-commit", Op: faultfs.Commit, Path: root.LMDBData, Nth: 2},
		profiletest.Phase{Name: "e-release", Op: faultfs.Punch, Path: root.Records, Nth: 1},
	))
}

// TestEveryCallOfACompactionFails lets every call fail once, the commits of the
// reload among them. The error is of a kind and names the root, no handle is
// left, and the next run finishes the work.
func TestEveryCallOfACompactionFails(t *testing.T) {
	shape := compacttest.Scripted([]int{0, 30, 300, 310, 320, 330, 600, 200, 210}, "k-kkkk-kk", 800)
	var kept [][]byte
	for i, rec := range shape.Records {
		if shape.Kept[i] {
			kept = append(kept, rec)
		}
	}
	base := newMachine(t, crashfs.Options{ReleaseAtOnce: true}, shape.Records...)
	run := func(m machine, at int) (*faultfs.FS, *faultfs.Injection, error) {
		fsys := faultfs.New(m.fs, profiletest.Dir)
		injected := fsys.Inject(faultfs.Fault{At: at, Err: syscall.EIO, Match: func(c faultfs.Call) bool { return c.Op != faultfs.DropCache }})
		settings := compacttest.Settings{Journal: shape.Journal, Run: compact.Options{Buffer: 1 << 12, WorthGap: 600}}
		_, err := modelled(m.env, fsys).Compact(t.Context(), fsys, profiletest.Dir, shape.Set(), settings)
		return fsys, injected, err
	}
	for at := 1; ; at++ {
		m := base.fork(base.fs.Clone())
		fsys, injected, err := run(m, at)
		if injected.Fired() == 0 {
			must(t, err)
			if at < 100 {
				t.Errorf("a compaction of %d calls", at)
			}
			return
		}
		var failed faultfs.Call
		for _, c := range fsys.Calls(faultfs.All) {
			if errors.Is(c.Err, syscall.EIO) {
				failed = c
			}
		}
		var known *store.Error
		// A mapping cannot report the end of its lock.
		tolerated := failed.Op == faultfs.Close && failed.Path == root.ArenaLock
		if !tolerated && (!errors.Is(err, syscall.EIO) || !errors.As(err, &known) || known.Root == "") {
			t.Errorf("%s: %v", failed, err)
		}
		if leaks := fsys.Leaks(); len(leaks) > 0 {
			t.Errorf("%s: leaks %q", failed, leaks)
		}
		after := m.fork(m.fs.Clone())
		if err := errors.Join(after.opens(shape.Records, kept), after.finish(shape, 1, kept)); err != nil {
			t.Errorf("%s: %v", failed, err)
		}
		after.drop()
		m.drop()
	}
}
