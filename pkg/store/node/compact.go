package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Compact implements profile.Profile. The sentinel is held throughout. What is
// refused before the plan is approved has changed nothing else in the root.
func (Profile) Compact(ctx context.Context, dir string, opts profile.CompactOptions, choose profile.Choose) (compact.Report, error) {
	return owned(ctx, dir, opts, func(o *ownership, found compact.Files) (compact.Report, error) {
		if found.State {
			return o.resume(ctx, found, opts)
		}
		plan, repair, err := o.sweep(ctx, opts, choose)
		if err != nil {
			return compact.Report{}, err
		}
		if err := repair.GoOn(o.fs, dir, found); err != nil {
			return compact.Report{}, err
		}
		return o.withArena(func(p *physical) (compact.Report, error) {
			return compact.Run(ctx, p, plan, opts.Run)
		})
	})
}

// Resume implements profile.Profile. On a root without an interrupted
// compaction it clears leftovers away, if the root passes the checks of an
// ordinary opening, and reports that there was nothing to do; of a root without
// any it checks record-log, but no record.
func (Profile) Resume(ctx context.Context, dir string, opts profile.CompactOptions) (compact.Report, error) {
	return owned(ctx, dir, opts, func(o *ownership, found compact.Files) (compact.Report, error) {
		if found.State {
			return o.resume(ctx, found, opts)
		}
		if err := o.requireTruth(); err != nil {
			return compact.Report{}, err
		}
		return logfile.NothingToResume(ctx, o.fs, dir, found)
	})
}

// owned owns the root, settles its directory and looks for the files of an
// interrupted compaction.
func owned(ctx context.Context, dir string, opts profile.CompactOptions, f func(*ownership, compact.Files) (compact.Report, error)) (compact.Report, error) {
	opts.Open.ReadOnly = false
	o, err := own(ctx, dir, opts.Open)
	if err != nil {
		return compact.Report{}, err
	}
	o.resumable = true
	var report compact.Report
	found, err := compact.Settle(o.fs, dir)
	if err == nil {
		report, err = f(o, found)
	}
	return report, o.finish(err)
}

func (o *ownership) resume(ctx context.Context, found compact.Files, opts profile.CompactOptions) (compact.Report, error) {
	if err := o.requireTruth(); err != nil {
		return compact.Report{}, err
	}
	table, err := logfile.Rows(o.fs, o.dir)
	if err != nil {
		return compact.Report{}, err
	}
	return o.withArena(func(p *physical) (compact.Report, error) {
		return compact.Resume(ctx, p, table, found, opts.Run)
	})
}

// sweep lets choose decide over a store under the held ownership, and plans.
// The store is closed afterwards, and the root is as it was: what its log needs
// first is returned.
func (o *ownership) sweep(ctx context.Context, opts profile.CompactOptions, choose profile.Choose) (*compact.Plan, logfile.Repair, error) {
	open := opts.Open
	open.NoPublish = true
	s, err := o.open(ctx, open, true)
	if err != nil {
		return nil, logfile.Repair{}, err
	}
	var set *kept.Set
	if !opts.DiscardUnlisted {
		err = arena.RefuseUnlisted(s.files.Arena, o.dir, root.RecordLog, s.table.End(), s.files.ArenaSize)
	}
	if err == nil {
		set, err = choose(ctx, s)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, logfile.Repair{}, err
	}
	plan, err := opts.Plan(s.table, set)
	return plan, s.repair, err
}

// withArena holds the arena open for positional reads and writes while f runs.
func (o *ownership) withArena(f func(*physical) (compact.Report, error)) (compact.Report, error) {
	path := o.path(root.Records)
	records, err := o.fs.OpenFile(path, vfs.ReadWrite)
	if err != nil {
		return compact.Report{}, root.IOError("open", o.dir, path, err)
	}
	report, err := f(&physical{logfile.Publisher{Files: o.fs, Root: o.dir}, records})
	// The last sync of the arena is behind us; a close that reports an error
	// all the same makes the run doubtful.
	if e := records.Close(); e != nil {
		err = errors.Join(err, root.Resumable(root.IOError("close", o.dir, path, e), o.dir))
	}
	return report, err
}

// physical is what a compaction needs of a Node root. No handle of record-log is
// open while it is replaced; whoever needs one opens the new file.
type physical struct {
	logfile.Publisher
	records vfs.File
}

var _ compact.Publisher = (*physical)(nil)

// Arena implements compact.Profile.
func (p *physical) Arena() vfs.File { return p.records }

// Release implements compact.Profile: records gets the exact committed length.
func (p *physical) Release(newEnd uint64) (compact.Release, error) {
	dir, path := p.Root, filepath.Join(p.Root, root.Records)
	size, err := p.size()
	if err != nil {
		return "", root.Resumable(err, dir)
	}
	if size < newEnd {
		return "", root.Corrupt(dir, path, "length", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at least %d", newEnd))
	}
	err = p.records.Truncate(int64(newEnd))
	if err == nil {
		// Without this, the plan that would truncate again could be gone while
		// the old length is on the disk: nothing is lost, but nothing is freed.
		err = p.records.Sync()
	}
	if err != nil {
		return "", root.Resumable(root.IOError("release the tail of", dir, path, err), dir)
	}
	return compact.Truncated, nil
}

// ReleaseWorth implements compact.Profile.
func (p *physical) ReleaseWorth(newEnd uint64) (uint64, error) {
	size, err := p.size()
	return size - min(size, newEnd), err
}

func (p *physical) size() (uint64, error) {
	info, err := p.records.Stat()
	if err != nil {
		return 0, root.IOError("measure", p.Root, filepath.Join(p.Root, root.Records), err)
	}
	return uint64(info.Size), nil
}
