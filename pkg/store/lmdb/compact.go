//go:build cgo

package lmdb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Compact implements profile.Profile. The bootstrap lock is held throughout:
// no program opens the root meanwhile, and one that had it open before holds a
// shared arena-lock, which the compaction finds.
func (p Profile) Compact(ctx context.Context, dir string, opts profile.CompactOptions, choose profile.Choose) (compact.Report, error) {
	return p.bootstrapped(ctx, dir, opts, func(c *compaction) (compact.Report, error) {
		if c.found.State {
			return c.resume(ctx)
		}
		// Fail fast: a live mapping would refuse the move after a long sweep.
		if err := arena.Probe(c.fs, dir); err != nil {
			return compact.Report{}, err
		}
		plan, err := c.sweep(ctx, choose)
		if err != nil {
			return compact.Report{}, err
		}
		return c.withArena(func(p *physical) (compact.Report, error) {
			// Nothing refuses any more, and the root has shown that it is whole.
			if err := compact.ClearLeftovers(c.fs, dir, c.found); err != nil {
				return compact.Report{}, err
			}
			return compact.Run(ctx, p, plan, opts.Run)
		})
	})
}

// Resume implements profile.Profile. On a root without an interrupted
// compaction it clears leftovers away, if every row is there and has its glyph
// line, and reports that there was nothing to do; of a root without any it checks
// the rows, but no record.
func (p Profile) Resume(ctx context.Context, dir string, opts profile.CompactOptions) (compact.Report, error) {
	return p.bootstrapped(ctx, dir, opts, func(c *compaction) (compact.Report, error) {
		if c.found.State {
			return c.resume(ctx)
		}
		report := compact.Report{Outcome: compact.NothingToDo}
		if !c.found.Any() {
			return report, c.checkRows()
		}
		return report, c.clearLeftovers(ctx)
	})
}

// compaction is a root whose bootstrap lock is held to compact it.
type compaction struct {
	profile Profile
	fs      vfs.FS
	dir     string
	opts    profile.CompactOptions
	marker  vfs.File
	found   compact.Files
}

// bootstrapped takes the bootstrap lock, settles the directory and looks for
// the files of an interrupted compaction.
func (p Profile) bootstrapped(ctx context.Context, dir string, opts profile.CompactOptions, f func(*compaction) (compact.Report, error)) (compact.Report, error) {
	opts.Open.ReadOnly = false
	marker, err := bootstrap.Open(ctx, dir, root.LMDB, opts.Open)
	if err != nil {
		return compact.Report{}, err
	}
	var report compact.Report
	found, err := compact.Settle(opts.Open.FS, dir)
	if err == nil {
		report, err = f(&compaction{profile: p, fs: opts.Open.FS, dir: dir, opts: opts, marker: marker, found: found})
	}
	if e := errors.Join(marker.Unlock(), marker.Close()); e != nil {
		err = errors.Join(err, root.IOError("unlock", dir, filepath.Join(dir, root.Marker), e))
	}
	return report, err
}

// sweep lets choose decide over a store under the held lock, and plans. The
// store, its environment, its mapping and every record of it are gone
// afterwards.
func (c *compaction) sweep(ctx context.Context, choose profile.Choose) (*compact.Plan, error) {
	s, _, err := c.profile.openUnder(c.marker, c.dir, c.opts.Open, true)
	if err != nil {
		return nil, err
	}
	released := s.MappingReleased()
	set, err := c.choose(ctx, s, choose)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	s = nil
	if err := arena.AwaitRelease(c.dir, released); err != nil {
		return nil, err
	}
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	return c.opts.Plan(rows, set)
}

func (c *compaction) choose(ctx context.Context, s *Store, choose profile.Choose) (set *kept.Set, err error) {
	if err := c.requireWhole(ctx, s); err != nil {
		return nil, err
	}
	if !c.opts.DiscardUnlisted {
		var end uint64
		err := s.read(func() error { end = s.now.end; return nil })
		if err == nil {
			err = arena.RefuseUnlisted(s.arena, s.dir, root.LMDBData, end, s.capacity)
		}
		if err != nil {
			return nil, err
		}
	}
	err = mmap.Guard(func() error {
		var err error
		set, err = choose(ctx, s)
		return err
	})
	return set, err
}

// requireWhole checks what a compaction relies on and an opening does not look
// at: every page of the databases, that each row has its record, and each hash
// its row. With rows that are not those of the arena, a copy from another day
// among them, it would move and release the bytes of other records.
func (c *compaction) requireWhole(ctx context.Context, s *Store) error {
	if err := s.env.checkPages(); err != nil {
		return err
	}
	pos := s.Position()
	rows, err := s.Rows(pos)
	if err == nil {
		err = checkRecords(ctx, s.arena, c.dir, rows.All())
	}
	if err != nil {
		return err
	}
	return s.env.view(func(txn *mdb.Txn) error {
		stat, err := txn.Stat(s.env.hashes)
		if err == nil && stat.Entries != uint64(pos) {
			err = s.env.corrupt("database "+hashesName, fmt.Sprintf("%d entries", stat.Entries), fmt.Sprintf("%d, as many as rows", pos))
		}
		return err
	})
}

// rows is the row table by cursor. Its environment is open during a reading
// only: none is while the arena moves.
func (c *compaction) rows() (rowlog.Rows, error) {
	rows := committedRows{open: func() (*env, func() error, error) {
		e, err := openEnv(c.fs, c.dir, envRead, c.profile.hooks)
		if err != nil {
			return nil, nil, err
		}
		return e, e.close, nil
	}}
	e, end, err := rows.open()
	if err != nil {
		return nil, err
	}
	err = e.view(func(txn *mdb.Txn) error {
		s, err := e.snapshot(txn)
		rows.pos, rows.end = s.pos, s.end
		return err
	})
	return rows, errors.Join(err, end())
}

// resume finishes an interrupted compaction. While the rows are reloaded, the
// plan alone has them.
func (c *compaction) resume(ctx context.Context) (compact.Report, error) {
	return c.withArena(func(p *physical) (compact.Report, error) {
		state, err := compact.ReadState(c.fs, c.dir)
		if err != nil {
			return compact.Report{}, err
		}
		var rows rowlog.Rows
		if state.Phase == format.Move {
			if rows, err = c.rows(); err != nil {
				return compact.Report{}, err
			}
		}
		return compact.Resume(ctx, p, rows, c.found, c.opts.Run)
	})
}

// checkRows says of the rows what an ordinary opening relies on, and changes
// nothing.
func (c *compaction) checkRows() error {
	if err := c.profile.requireTruth(c.fs, c.dir); err != nil {
		return err
	}
	if err := arena.RequireCapacity(c.fs, c.dir); err != nil {
		return err
	}
	info, err := c.fs.Stat(filepath.Join(c.dir, root.Records))
	if err != nil {
		return root.IOError("open", c.dir, filepath.Join(c.dir, root.Records), err)
	}
	e, err := openEnv(c.fs, c.dir, envRead, c.profile.hooks)
	if err != nil {
		return err
	}
	pos, err := e.position()
	if err == nil {
		_, err = e.table(pos, uint64(info.Size))
	}
	return errors.Join(err, e.close())
}

// clearLeftovers removes files without a state, once every row has shown that
// the root is whole.
func (c *compaction) clearLeftovers(ctx context.Context) error {
	rows, err := c.rows()
	if err != nil {
		return err
	}
	path := filepath.Join(c.dir, root.Records)
	records, err := c.fs.OpenFile(path, vfs.ReadOnly)
	if err != nil {
		return root.IOError("open", c.dir, path, err)
	}
	err = checkRecords(ctx, records, c.dir, rows.All())
	if err = errors.Join(err, records.Close()); err != nil {
		return err
	}
	return compact.ClearLeftovers(c.fs, c.dir, c.found)
}

// checkRecords checks that rows follow each other in the arena, and that each
// begins with the glyph line of its hash.
func checkRecords(ctx context.Context, records vfs.File, dir string, rows iter.Seq2[rowlog.Row, error]) error {
	path := filepath.Join(dir, root.Records)
	info, err := records.Stat()
	if err != nil {
		return root.IOError("open", dir, path, err)
	}
	glyphs := rowlog.GlyphReader{Arena: records, End: uint64(info.Size)}
	id, end := store.RecordID(0), uint64(0)
	for row, err := range rows {
		if err != nil {
			return err
		}
		if id++; id%256 == 0 && ctx.Err() != nil {
			return root.IOError("check", dir, path, ctx.Err())
		}
		where := fmt.Sprintf("record #%d at offset %d", id, row.Offset)
		if err := row.CheckInside(uint64(info.Size)); err != nil {
			return root.Corrupt(dir, path, where, err.Error(), "")
		}
		if row.Offset != end {
			return root.Corrupt(dir, path, where, "a row that does not follow the one before", fmt.Sprintf("offset %d", end))
		}
		end = row.End()
		b, err := glyphs.Glyph(row)
		if err != nil {
			return root.IOError("read", dir, path, err)
		}
		if err := rowlog.JudgeGlyph(b, row.Hash); err != nil {
			return root.Corrupt(dir, path, where, err.Error(), "the glyph line of "+row.Hash.String())
		}
	}
	return nil
}

func (c *compaction) withArena(f func(*physical) (compact.Report, error)) (compact.Report, error) {
	return arena.Exclusively(c.fs, c.dir, func(records vfs.File) (compact.Report, error) {
		return f(&physical{c: c, Tail: arena.Tail{Root: c.dir, File: records}})
	})
}
