package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"time"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// mappingWait is how long the mapping of a closed store is waited for: the
// garbage collector has to find that no record holds it.
const mappingWait = 5 * time.Second

// probeTries is how many collections the first probe of arena-lock is worth.
const probeTries = 3

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
		if err := own.probeArena(); err != nil {
			return compact.Report{}, err
		}
		if found.Any() {
			if err := clearLeftovers(ctx, own, found); err != nil {
				return compact.Report{}, err
			}
		}
		plan, err := sweepOwned(ctx, own, opts, choose)
		if err != nil {
			return compact.Report{}, err
		}
		return withArena(own, opts.Open.FS, func(p *physical) (compact.Report, error) {
			return compact.Run(ctx, p, plan, opts.Run)
		})
	})
}

// Resume finishes an interrupted compaction. On a root without one it clears
// leftovers away, if the root passes the checks of an ordinary opening, and
// reports that there was nothing to do.
func Resume(ctx context.Context, dir string, opts CompactOptions) (compact.Report, error) {
	return withOwnership(ctx, dir, opts, func(own *Ownership, found compact.Files) (compact.Report, error) {
		if found.State {
			return resumeOwned(ctx, own, found, opts)
		}
		report := compact.Report{Outcome: compact.NothingToDo}
		if !found.Any() {
			return report, own.requireTruth()
		}
		return report, clearLeftovers(ctx, own, found)
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
		table, _, err := own.structure()
		if err != nil {
			return compact.Report{}, err
		}
		return compact.Resume(ctx, p, table, found, opts.Run)
	})
}

// clearLeftovers removes files without a state, once the full check of an
// ordinary opening has shown that the root is whole.
func clearLeftovers(ctx context.Context, own *Ownership, found compact.Files) error {
	table, _, err := own.structure()
	if err != nil {
		return err
	}
	arena, err := own.fs.OpenFile(own.path(root.Records), vfs.ReadOnly)
	if err != nil {
		return ioError("open", own.dir, own.path(root.Records), err)
	}
	if err := errors.Join(checkGlyphs(ctx, arena, own.dir, table), arena.Close()); err != nil {
		return err
	}
	return compact.ClearLeftovers(own.fs, own.dir, found)
}

// sweepOwned lets choose decide over a store under the held ownership, and
// plans. The store, its mapping and every record of it are gone afterwards.
func sweepOwned(ctx context.Context, own *Ownership, opts CompactOptions, choose Choose) (*compact.Plan, error) {
	open := opts.Open
	open.NoPublish = true
	s, err := openOwned(ctx, own, open)
	if err != nil {
		return nil, err
	}
	table, released := s.table, s.MappingReleased()
	var set *kept.Set
	if !opts.DiscardUnlisted {
		err = s.refuseUnlisted()
	}
	if err == nil {
		err = mmap.Guard(func() error {
			var err error
			set, err = choose(ctx, s)
			return err
		})
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	s = nil
	if err := awaitMapping(own.dir, released); err != nil {
		return nil, err
	}
	journal := opts.JournalSize
	if journal == 0 {
		journal = compact.DefaultJournalSize
	}
	plan, err := compact.NewPlan(table, set, journal)
	if err != nil {
		return nil, err
	}
	if opts.Approve != nil {
		if err := opts.Approve(plan); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// refuseUnlisted refuses a root in which a whole record, proven by its digests,
// lies right behind the end of record-log. An admission that was interrupted
// leaves that, but so does a log that lost rows, and a compaction would release
// the bytes of every record that those rows named.
func (s *Store) refuseUnlisted() error {
	end := s.table.End()
	if end >= s.capacity {
		return nil
	}
	row, err := s.rowAt(end)
	var form *record.FormatError
	if errors.As(err, &form) {
		return nil // residue that is no record
	}
	if err != nil {
		return ioError("look behind the end of", s.dir, s.path(root.Records), err)
	}
	return &store.Error{
		Kind: store.Guarded, Doing: "compact", Root: s.dir, Path: s.path(root.Records),
		Where: fmt.Sprintf("offset %d", end), Hash: row.Hash,
		Found: "a whole record lies behind the end of record-log: an admission was interrupted, or record-log lost rows",
		Hint:  "nothing was changed; when record-log is as it should be, say --discard-unlisted",
	}
}

// awaitMapping waits until nothing holds the mapping of a closed store.
func awaitMapping(dir string, released <-chan struct{}) error {
	select {
	case <-released: // nothing to collect is the common case
		return nil
	default:
	}
	for deadline := time.Now().Add(mappingWait); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-released:
			return nil
		case <-time.After(lockPoll):
		}
	}
	return &store.Error{
		Kind: store.Store, Reason: store.Busy, Doing: "compact", Root: dir,
		Found: "a record of this root is still alive in this process",
	}
}

// probeArena takes arena-lock exclusively and gives it back. It gives the
// garbage collector a chance first to find records of a closed store of this
// process that nobody can reach any more.
func (o *Ownership) probeArena() error {
	f, err := o.lockArena(vfs.ExclusiveLock)
	for tries := 0; tries < probeTries && errors.Is(err, store.Busy); tries++ {
		runtime.GC()
		time.Sleep(lockPoll)
		f, err = o.lockArena(vfs.ExclusiveLock)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.Unlock(), f.Close()); err != nil {
		return ioError("unlock", o.dir, o.path(root.ArenaLock), err)
	}
	return nil
}

// withArena holds arena-lock exclusively and the arena open for positional
// reads and writes while f runs.
func withArena(own *Ownership, fsys vfs.FS, f func(*physical) (compact.Report, error)) (compact.Report, error) {
	lock, err := own.lockArena(vfs.ExclusiveLock)
	if err != nil {
		return compact.Report{}, err
	}
	arena, err := fsys.OpenFile(own.path(root.Records), vfs.ReadWrite)
	if err != nil {
		return compact.Report{}, errors.Join(ioError("open", own.dir, own.path(root.Records), err), lock.Close())
	}
	report, err := f(&physical{own: own, arena: arena})
	// The last sync of the arena is behind us; a close that reports an error
	// all the same makes the run doubtful.
	if e := arena.Close(); e != nil {
		err = errors.Join(err, resumable(ioError("close", own.dir, own.path(root.Records), e), own.dir))
	}
	if e := errors.Join(lock.Unlock(), lock.Close()); e != nil {
		err = errors.Join(err, resumable(ioError("unlock", own.dir, own.path(root.ArenaLock), e), own.dir))
	}
	return report, err
}

// structure loads the row table without looking at the arena's bytes.
func (o *Ownership) structure() (table *rowlog.Table, torn uint64, err error) {
	if err := o.requireTruth(); err != nil {
		return nil, 0, err
	}
	if err := o.requireCapacity(); err != nil {
		return nil, 0, err
	}
	info, err := o.fs.Stat(o.path(root.Records))
	if err != nil {
		return nil, 0, ioError("open", o.dir, o.path(root.Records), err)
	}
	log, err := o.fs.OpenFile(o.path(root.RecordLog), vfs.ReadOnly)
	if err != nil {
		return nil, 0, ioError("open", o.dir, o.path(root.RecordLog), err)
	}
	table, torn, err = loadTable(log, o.dir, uint64(info.Size))
	return table, torn, errors.Join(err, log.Close())
}

// physical is what a compaction needs of a native root.
type physical struct {
	own   *Ownership
	arena vfs.File
}

var _ compact.Profile = (*physical)(nil)

func (p *physical) FS() vfs.FS      { return p.own.fs }
func (p *physical) Dir() string     { return p.own.dir }
func (p *physical) Arena() vfs.File { return p.arena }

// RemoveIndexes implements compact.Profile.
func (p *physical) RemoveIndexes() error {
	path := p.own.path(root.Indexes)
	if err := vfs.RemoveTree(p.own.fs, path); err != nil {
		return resumable(ioError("remove", p.own.dir, path, err), p.own.dir)
	}
	// Without this, a power cut could bring lists back that name old ids.
	if err := p.own.fs.SyncDir(p.own.dir); err != nil {
		return resumable(ioError("sync directory", p.own.dir, p.own.dir, err), p.own.dir)
	}
	return nil
}

// Publish implements compact.Profile: record-log is replaced as a whole.
func (p *physical) Publish(rows iter.Seq2[rowlog.Row, error]) error {
	buf := make([]byte, 0, rowlog.RowLen)
	err := vfs.Replace(p.own.fs, p.own.dir, root.RecordLog, func(w io.Writer) error {
		for row, err := range rows {
			if err != nil {
				return err
			}
			buf = row.AppendTo(buf[:0])
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return resumable(ioError("replace", p.own.dir, p.own.path(root.RecordLog), err), p.own.dir)
	}
	return nil
}

// Release implements compact.Profile: the whole unlogged tail becomes a hole;
// the capacity stays.
func (p *physical) Release(newEnd uint64) (compact.Release, error) {
	info, err := p.arena.Stat()
	if err != nil {
		return "", resumable(ioError("release", p.own.dir, p.own.path(root.Records), err), p.own.dir)
	}
	if uint64(info.Size) < newEnd {
		return "", corrupt(p.own.dir, p.own.path(root.Records), "length", fmt.Sprintf("%d bytes", info.Size), fmt.Sprintf("at least %d", newEnd))
	}
	how := compact.Punched
	err = p.arena.PunchHole(int64(newEnd), info.Size-int64(newEnd))
	if errors.Is(err, vfs.ErrUnsupported) {
		how, err = compact.Unsupported, nil
	}
	if err == nil {
		// Without this, the plan that would punch again could be gone while
		// the hole is not on the disk: nothing is lost, but nothing is freed.
		err = p.arena.Sync()
	}
	if err != nil {
		return "", resumable(ioError("release the tail of", p.own.dir, p.own.path(root.Records), err), p.own.dir)
	}
	return how, nil
}

// ReleaseWorth implements compact.Profile.
func (p *physical) ReleaseWorth(newEnd uint64) (uint64, error) {
	info, err := p.arena.Stat()
	if err != nil {
		return 0, ioError("measure", p.own.dir, p.own.path(root.Records), err)
	}
	used := uint64(max(info.Allocated, 0))
	return used - min(used, newEnd), nil
}

// resumable says how to go on after an error behind step B.
func resumable(err error, dir string) error {
	var e *store.Error
	if errors.As(err, &e) && e.Hint == "" {
		e.Hint = "nothing was lost; lace resume " + dir
	}
	return err
}
