package native

import (
	"context"
	"errors"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/logfile"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Choose decides what to retain.
type Choose = profile.Choose

// CompactOptions say how a root is compacted.
type CompactOptions = profile.CompactOptions

// Compact removes what choose leaves out, in place, or finishes the compaction
// that was interrupted before; then choose is not called. The lifetime lock is
// held throughout. The report says which of the two it was.
func Compact(ctx context.Context, dir string, opts CompactOptions, choose Choose) (compact.Report, error) {
	return withOwnership(ctx, dir, opts, func(own *Ownership, found compact.Files) (compact.Report, error) {
		if found.State {
			return resumeOwned(ctx, own, found, opts)
		}
		// Fail fast: a live mapping would refuse the move after a long sweep.
		if err := arena.Probe(own.fs, own.dir); err != nil {
			return compact.Report{}, err
		}
		plan, repair, err := sweepOwned(ctx, own, opts, choose)
		if err != nil {
			return compact.Report{}, err
		}
		return withArena(own, opts.Open.FS, func(p *physical) (compact.Report, error) {
			if err := repair.GoOn(own.fs, own.dir, found, root.Staging); err != nil {
				return compact.Report{}, err
			}
			return compact.Run(ctx, p, plan, opts.Run)
		})
	})
}

// Resume finishes an interrupted compaction. On a root without one it clears
// leftovers away, if the root passes the checks of an ordinary opening, and
// reports that there was nothing to do; of a root without any it checks
// record-log, but no record.
func Resume(ctx context.Context, dir string, opts CompactOptions) (compact.Report, error) {
	return withOwnership(ctx, dir, opts, func(own *Ownership, found compact.Files) (compact.Report, error) {
		if found.State {
			return resumeOwned(ctx, own, found, opts)
		}
		if err := own.requireArena(); err != nil {
			return compact.Report{}, err
		}
		return logfile.NothingToResume(ctx, own.fs, own.dir, found)
	})
}

// withOwnership owns the root, settles its directory and looks for the files
// of an interrupted compaction.
func withOwnership(ctx context.Context, dir string, opts CompactOptions, f func(*Ownership, compact.Files) (compact.Report, error)) (compact.Report, error) {
	opts.Open.ReadOnly = false
	own, err := Own(ctx, dir, opts.Open)
	if err != nil {
		return compact.Report{}, err
	}
	found, err := compact.Settle(own.fs, dir)
	if err != nil {
		return compact.Report{}, errors.Join(err, own.Release())
	}
	report, err := f(own, found)
	return report, errors.Join(err, own.Release())
}

func resumeOwned(ctx context.Context, own *Ownership, found compact.Files, opts CompactOptions) (compact.Report, error) {
	return withArena(own, opts.Open.FS, func(p *physical) (compact.Report, error) {
		table, err := own.structure()
		if err != nil {
			return compact.Report{}, err
		}
		return compact.Resume(ctx, p, table, found, opts.Run)
	})
}

// sweepOwned lets choose decide over a store under the held ownership, and
// plans. The store, its mapping and every record of it are gone afterwards. The
// root is as it was: what its log needs first is returned.
func sweepOwned(ctx context.Context, own *Ownership, opts CompactOptions, choose Choose) (*compact.Plan, logfile.Repair, error) {
	open := opts.Open
	open.NoPublish = true
	s, err := openPostponed(ctx, own, open)
	if err != nil {
		return nil, logfile.Repair{}, err
	}
	table, repair, released := s.table, s.repair, s.MappingReleased()
	var set *kept.Set
	if !opts.DiscardUnlisted {
		err = arena.RefuseUnlisted(s.files.Arena, s.dir, root.RecordLog, s.table.End(), s.files.ArenaSize)
	}
	if err == nil {
		err = mmap.Guard(func() error {
			var err error
			set, err = choose(ctx, s)
			return err
		})
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, logfile.Repair{}, err
	}
	s = nil
	if err := arena.AwaitRelease(own.dir, released); err != nil {
		return nil, logfile.Repair{}, err
	}
	plan, err := opts.Plan(table, set)
	return plan, repair, err
}

// withArena holds arena-lock exclusively and the arena open for positional
// reads and writes while f runs.
func withArena(own *Ownership, fsys vfs.FS, f func(*physical) (compact.Report, error)) (compact.Report, error) {
	return arena.Exclusively(fsys, own.dir, func(records vfs.File) (compact.Report, error) {
		return f(&physical{logfile.Publisher{Files: own.fs, Root: own.dir}, arena.Tail{Root: own.dir, File: records}})
	})
}

// structure loads the row table without looking at the arena's bytes.
func (o *Ownership) structure() (*rowlog.Table, error) {
	if err := o.requireArena(); err != nil {
		return nil, err
	}
	return logfile.Rows(o.fs, o.dir)
}

// requireArena refuses a root that lacks its log or its arena, or whose arena has
// a length that is no capacity.
func (o *Ownership) requireArena() error {
	if err := o.requireTruth(); err != nil {
		return err
	}
	return arena.RequireCapacity(o.fs, o.dir)
}

// physical is what a compaction needs of a native root.
type physical struct {
	logfile.Publisher
	arena.Tail
}

var _ compact.Publisher = (*physical)(nil)

// Arena implements compact.Profile.
func (p *physical) Arena() vfs.File { return p.File }
