//go:build cgo

package lmdb_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// machine is a root on a model disk, with its environment in a directory of the
// system: LMDB's transactions are what they are, so that a crash leaves the
// last one that was committed.
type machine struct {
	t   *testing.T
	fs  *crashfs.FS
	env string
}

const crashDir = compacttest.Dir

func newMachine(t *testing.T, options crashfs.Options, records ...[]byte) machine {
	t.Helper()
	m := machine{t, crashfs.New(options), t.TempDir()}
	s, err := lmdb.Quick().In(m.env).Create(t.Context(), crashDir, profile.Options{FS: m.fs, Capacity: minCapacity})
	must(t, err)
	_, err = s.Execute(storeOp(records...))
	must(t, errors.Join(err, s.Close(), m.fs.SyncDir("/")))
	return machine{t, m.fs.Crash(crashfs.None()), m.env}
}

// fork is the machine with another disk, and an environment of its own.
func (m machine) fork(fsys *crashfs.FS) machine {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.env, root.LMDBData))
	must(m.t, err)
	env := filepath.Join(m.t.TempDir(), "env")
	must(m.t, os.Mkdir(env, 0o777))
	must(m.t, os.WriteFile(filepath.Join(env, root.LMDBData), b, 0o666))
	return machine{m.t, fsys, env}
}

func (m machine) drop() { must(m.t, os.RemoveAll(m.env)) }

// compact compacts, in reload batches of two rows, and calls strike around
// their commits.
func (m machine) compact(s *compacttest.Shape, run int, strike func(rows uint64, committed bool) error) (compact.Report, error) {
	settings := s.Settings(run)
	opts := profile.CompactOptions{Open: profile.Options{FS: m.fs}, JournalSize: settings.Journal, Run: settings.Run}
	p := lmdb.Reloading(2, strike).In(m.env)
	if m.isNew(s) {
		return p.Resume(m.t.Context(), crashDir, opts)
	}
	return p.Compact(m.t.Context(), crashDir, opts, keeping(func(id store.RecordID) bool { return s.Kept[id-1] }))
}

// isNew reports whether the compaction is done but for files to clear away: it
// may not be chosen for again.
func (m machine) isNew(s *compacttest.Shape) bool {
	m.t.Helper()
	x, err := lmdb.Quick().In(m.env).Examine(m.t.Context(), crashDir, profile.Options{FS: m.fs.Clone()})
	must(m.t, err)
	must(m.t, x.Close())
	return !x.Files().State && x.Table().Position() != store.Position(len(s.Records))
}

// opens checks an ordinary opening: refused with the hint, or wholly old or
// wholly new.
func (m machine) opens(old, compacted [][]byte) error {
	s, err := lmdb.Quick().In(m.env).Open(m.t.Context(), crashDir, profile.Options{FS: m.fs})
	if errors.Is(err, store.NeedsResume) {
		var known *store.Error
		if !errors.As(err, &known) || known.Hint == "" {
			return fmt.Errorf("refused without a hint: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	got := load(m.t, s)
	if err := s.Close(); err != nil {
		return err
	}
	for _, want := range [][][]byte{old, compacted} {
		if len(want) == len(got) && bytes.Equal(bytes.Join(want, nil), bytes.Join(got, nil)) {
			return nil
		}
	}
	return fmt.Errorf("%d records, neither the %d old nor the %d new ones", len(got), len(old), len(compacted))
}

// finish compacts to the end and checks everything.
func (m machine) finish(s *compacttest.Shape, run int, compacted [][]byte) error {
	if _, err := m.compact(s, run, nil); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := m.opens(compacted, compacted); err != nil {
		return err
	}
	x, err := lmdb.Quick().In(m.env).Examine(m.t.Context(), crashDir, profile.Options{FS: m.fs})
	if err != nil {
		return err
	}
	checked, err := x.CheckIndexes(m.t.Context())
	if err = errors.Join(err, x.Damage(), x.Close()); err != nil {
		return err
	}
	if x.Files().Any() || x.Table().Position() != store.Position(len(compacted)) || len(checked.Findings) > 0 {
		return fmt.Errorf("finished with %v, %d rows, checked %+v", x.Files().Names(), x.Table().Position(), checked)
	}
	return m.released(s, uint64(len(bytes.Join(compacted, nil))))
}

func (m machine) released(s *compacttest.Shape, end uint64) error {
	if s.FS.NoPunch {
		return nil
	}
	f, err := m.fs.OpenFile(filepath.Join(crashDir, root.Records), vfs.ReadOnly)
	if err != nil {
		return err
	}
	tail := make([]byte, 1<<15)
	_, err = f.ReadAt(tail, int64(end))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if len(bytes.TrimLeft(tail, "\x00")) > 0 {
		return errors.New("the tail is not released")
	}
	return nil
}

// TestCompactionSurvivesCrashes cuts the power at every call that changes
// something, and before and after every commit of the reload, and resumes; of
// the resume it does so again at one call.
func TestCompactionSurvivesCrashes(t *testing.T) {
	states, want := 0, crashStates(t)
	const stride = 7 // so that fewer states see more shapes
	for seed := uint64(0); states < want; seed++ {
		s := compacttest.NewShape(seed)
		var kept [][]byte
		for i, rec := range s.Records {
			if s.Kept[i] {
				kept = append(kept, rec)
			}
		}
		m := newMachine(t, s.FS, s.Records...)
		must(t, m.opens(s.Records, kept))
		for at := 1 + int(seed)%stride; ; at += stride {
			struck := m.fork(m.fs.Clone())
			if err := struck.strike(s, at); err == nil {
				must(t, struck.fork(struck.fs.Clone()).finish(s, 2, kept))
				struck.drop()
				break
			}
			for i, survivors := range struck.fs.Survivors(2, seed) {
				after := struck.fork(struck.fs.Crash(survivors))
				err := after.opens(s.Records, kept)
				if i%4 == 1 && err == nil {
					again := after.fork(after.fs.Clone())
					if again.strike(s, 1+at%17) != nil {
						err = again.fork(again.fs.Crash(crashfs.Random(seed))).finish(s, 4, kept)
					}
					again.drop()
				}
				if err = errors.Join(err, after.finish(s, 3, kept)); err != nil {
					t.Fatalf("shape %d, struck at %d, survivors %v: %v", seed, at, survivors, err)
				}
				after.drop()
				states++
			}
			struck.drop()
		}
		m.drop()
	}
	t.Logf("%d states", states)
}

// crashStates is how many states are tried, unless the environment says.
func crashStates(t *testing.T) int {
	text := os.Getenv(compacttest.StatesVariable)
	if text == "" {
		return 120
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

var errStruck = errors.New("the power is cut")

// strike compacts and cuts the power at the n-th event: a call that changes
// something on the disk, or a place beside a commit. Without so many it is nil.
func (m machine) strike(s *compacttest.Shape, n int) error {
	commits := 0
	_, err := m.compact(s, n, func(uint64, bool) error {
		commits++
		if m.fs.Calls()+commits >= n {
			return errStruck
		}
		m.fs.CrashAt(n - commits)
		return nil
	})
	return err
}

// TestAdmissionSurvivesCrashes cuts the power at every call of an admission:
// the root has the records before it, or all of them, each whole.
func TestAdmissionSurvivesCrashes(t *testing.T) {
	before, more := blobs(0, 3), blobs(3, 6)
	m := newMachine(t, crashfs.Options{ReleaseAtOnce: true}, before...)
	for at := 1; ; at++ {
		struck := m.fork(m.fs.Clone())
		struck.fs.CrashAt(at)
		s, err := lmdb.Quick().In(struck.env).Open(t.Context(), crashDir, profile.Options{FS: struck.fs})
		if err == nil {
			_, err = s.Execute(storeOp(more...))
			_ = s.Close() // on a disk that is gone
		}
		done := !struck.fs.Crashed()
		for _, survivors := range struck.fs.Survivors(4, uint64(at)) {
			after := struck.fork(struck.fs.Crash(survivors))
			must(t, after.opens(before, append(before[:3:3], more...)))
			after.drop()
		}
		if done {
			must(t, err)
			must(t, struck.fork(struck.fs.Clone()).opens(append(before[:3:3], more...), nil))
			return
		}
	}
}
