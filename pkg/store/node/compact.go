package node

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
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
		// Nothing refuses any more what an opening does at once. The opening has
		// shown that the root is whole, so that leftovers may go.
		if err := repair.ApplyTo(o.fs, dir); err != nil {
			return compact.Report{}, err
		}
		if err := compact.ClearLeftovers(o.fs, dir, found); err != nil {
			return compact.Report{}, err
		}
		if err := logfile.Clean(o.fs, dir); err != nil {
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
		report := compact.Report{Outcome: compact.NothingToDo}
		if err := o.requireTruth(); err != nil {
			return report, err
		}
		if !found.Any() {
			return report, logfile.CheckLog(o.fs, dir)
		}
		if err := logfile.CheckWhole(ctx, o.fs, dir); err != nil {
			return report, err
		}
		return report, compact.ClearLeftovers(o.fs, dir, found)
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
	journal := opts.JournalSize
	if journal == 0 {
		journal = compact.DefaultJournalSize
	}
	plan, err := compact.NewPlan(s.table, set, journal)
	if err == nil && opts.Approve != nil {
		err = opts.Approve(plan)
	}
	if err != nil {
		return nil, logfile.Repair{}, err
	}
	return plan, s.repair, nil
}

// withArena holds the arena open for positional reads and writes while f runs.
func (o *ownership) withArena(f func(*physical) (compact.Report, error)) (compact.Report, error) {
	path := o.path(root.Records)
	records, err := o.fs.OpenFile(path, vfs.ReadWrite)
	if err != nil {
		return compact.Report{}, root.IOError("open", o.dir, path, err)
	}
	report, err := f(&physical{own: o, records: records})
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
	own     *ownership
	records vfs.File
}

var _ compact.Publisher = (*physical)(nil)

func (p *physical) FS() vfs.FS      { return p.own.fs }
func (p *physical) Dir() string     { return p.own.dir }
func (p *physical) Arena() vfs.File { return p.records }

// RemoveIndexes implements compact.Publisher.
func (p *physical) RemoveIndexes() error { return logfile.RemoveIndexes(p.own.fs, p.own.dir) }

// Publish implements compact.Publisher: record-log is replaced as a whole.
func (p *physical) Publish(rows iter.Seq2[rowlog.Row, error]) error {
	return logfile.Publish(p.own.fs, p.own.dir, rows)
}

// Release implements compact.Profile: records gets the exact committed length.
func (p *physical) Release(newEnd uint64) (compact.Release, error) {
	dir, path := p.own.dir, p.own.path(root.Records)
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
		return 0, root.IOError("measure", p.own.dir, p.own.path(root.Records), err)
	}
	return uint64(info.Size), nil
}
