package compacttest

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// Mutant is a wrong protocol, planted by a wrapper between the code and the
// file system. A test that passes it proves nothing about the right one.
type Mutant struct {
	Name   string
	Breaks string // the rule, or what follows
	// Start begins one run: what it returns sees the calls of that run, which
	// act on base.
	Start func(base vfs.FS) Tamperer
	// View, unless nil, shows a file that was opened in another way.
	View func(base vfs.FS, name string, f vfs.File) (vfs.File, error)
	// First is the shape to begin with, for what only few shapes show.
	First uint64
	// Deep is for what only two events show, each at its own call.
	Deep bool
}

// Wrap plants the mutant for one run.
func (m Mutant) Wrap(base vfs.FS) vfs.FS {
	t := &tampered{FS: base, tamper: honest}
	if m.Start != nil {
		t.tamper = m.Start(base)
	}
	if m.View != nil {
		t.view = func(name string, f vfs.File) (vfs.File, error) { return m.View(base, name, f) }
	}
	return t
}

func honest(_ Step, do func() error) error { return do() }

func at(name string) string { return filepath.Join(Dir, name) }

// omit leaves out the calls that match, which report success.
func omit(match func(Step) bool) func(vfs.FS) Tamperer {
	return func(vfs.FS) Tamperer {
		return func(s Step, do func() error) error {
			if match(s) {
				return nil
			}
			return do()
		}
	}
}

func on(op faultfs.Op, names ...string) func(Step) bool {
	return func(s Step) bool {
		for _, name := range names {
			if s.Is(op, name) {
				return true
			}
		}
		return false
	}
}

func syncOf(name string) func(Step) bool { return on(faultfs.Sync, name) }

// omitSyncDir leaves out the directory sync that follows a change of an entry
// directly; an empty verb is the sync at the start of a run.
func omitSyncDir(op faultfs.Op, name string) func(vfs.FS) Tamperer {
	return func(vfs.FS) Tamperer {
		last := Step{}
		return func(s Step, do func() error) error {
			switch s.Op {
			case faultfs.Rename:
				last = s
			case faultfs.Remove:
				err := do()
				if err == nil { // removing what is absent changes nothing
					last = s
				}
				return err
			case faultfs.SyncDir:
				follows := last.Is(op, name)
				last = Step{Op: faultfs.SyncDir}
				if follows {
					return nil
				}
			}
			return do()
		}
	}
}

// late holds the calls that match back until one that matches after is done.
func late(match, after func(Step) bool) func(vfs.FS) Tamperer {
	return func(base vfs.FS) Tamperer {
		var held []func() error
		return func(s Step, do func() error) error {
			if match(s) {
				held = append(held, do)
				return nil
			}
			err := do()
			if err != nil || !after(s) || len(held) == 0 {
				return err
			}
			for _, call := range held {
				err = errors.Join(err, call())
			}
			held = nil
			return errors.Join(err, base.SyncDir(Dir))
		}
	}
}

// first does something else before a call that matches.
func first(match func(Step) bool, act func(base vfs.FS, s Step) error) func(vfs.FS) Tamperer {
	return func(base vfs.FS) Tamperer {
		return func(s Step, do func() error) error {
			if match(s) {
				if err := act(base, s); err != nil {
					return err
				}
			}
			return do()
		}
	}
}

// durably removes an entry, which may be absent.
func durablyRemove(base vfs.FS, name string) error {
	return errors.Join(vfs.RemoveIfPresent(base, at(name)), base.SyncDir(Dir))
}

// retried does a call that matches again when it has failed.
func retried(match func(Step) bool) func(vfs.FS) Tamperer {
	return func(vfs.FS) Tamperer {
		return func(s Step, do func() error) error {
			err := do()
			if err != nil && match(s) {
				err = do()
			}
			return err
		}
	}
}

func isTemporary(s Step) bool { return strings.HasSuffix(s.Name, vfs.TempSuffix) }

// renamedFirst renames before the contents are synced.
func renamedFirst(name string) func(vfs.FS) Tamperer {
	return func(base vfs.FS) Tamperer {
		return func(s Step, do func() error) error {
			if s.Is(faultfs.Sync, name+vfs.TempSuffix) {
				return nil
			}
			if err := do(); err != nil || !s.Is(faultfs.Rename, name) {
				return err
			}
			f, err := base.OpenFile(at(name), vfs.ReadWrite)
			if err != nil {
				return err
			}
			return errors.Join(f.Sync(), f.Close())
		}
	}
}

// inPlace writes a file over the old one instead of renaming it.
func inPlace(name string) func(vfs.FS) Tamperer {
	return func(base vfs.FS) Tamperer {
		return func(s Step, do func() error) error {
			if !s.Is(faultfs.Rename, name) || !present(base, name) {
				return do()
			}
			b, err := readFile(base, at(name+vfs.TempSuffix))
			if err != nil {
				return err
			}
			f, err := base.OpenFile(at(name), vfs.ReadWrite)
			if err != nil {
				return err
			}
			err = f.Truncate(0)
			if err == nil {
				_, err = f.WriteAt(b, 0)
			}
			return errors.Join(err, f.Sync(), f.Close(), base.Remove(at(name+vfs.TempSuffix)))
		}
	}
}

func present(base vfs.FS, name string) bool {
	_, err := base.Stat(at(name))
	return err == nil
}

// atStart does something before the first call of a run on a root with a
// state.
func atStart(act func(base vfs.FS) error) func(vfs.FS) Tamperer {
	return func(base vfs.FS) Tamperer {
		started := false
		return func(s Step, do func() error) error {
			if !started {
				started = true
				if present(base, root.State) {
					if err := act(base); err != nil {
						return err
					}
				}
			}
			return do()
		}
	}
}
