package native

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// recover loads and checks the log and the glyph line of every record; only
// then anything is changed. A torn last row was never acknowledged: a writer
// truncates it, a reader reports it, and a compaction that may still be refused
// leaves it until it goes on.
func (s *Store) recover(ctx context.Context) error {
	info, err := s.arena.Stat()
	if err != nil {
		return root.IOError("open", s.dir, s.path(root.Records), err)
	}
	s.capacity = uint64(info.Size)
	if !s.readOnly {
		if err := s.distrustCache(); err != nil {
			return err
		}
	}
	table, torn, lost, err := s.load()
	if err != nil {
		return err
	}
	if err := checkGlyphs(ctx, s.arena, s.dir, table); err != nil {
		return err
	}
	s.table = table
	if s.readOnly {
		s.tornBytes = torn
		return nil
	}
	s.repair = logRepair{lost: lost, torn: torn, end: s.logEnd()}
	if s.postponed {
		return nil
	}
	return s.repair.apply(s.log, s.dir)
}

// distrustCache has the log read from the disk. When a sync of it failed and
// its writer died before it could cut the rows off again, the cache goes on
// showing rows that the disk does not have, and later syncs say nothing. The
// log was synced just now, so that every page is clean and can be forgotten.
func (s *Store) distrustCache() error {
	info, err := s.log.Stat()
	if err == nil {
		err = s.log.DropCache(0, info.Size)
	}
	if err != nil {
		return root.IOError("read anew", s.dir, s.path(root.RecordLog), err)
	}
	return nil
}

// logRepair is what an opening has to change in record-log: lost rows are put
// back, and an incomplete last row is cut off.
type logRepair struct {
	lost []lostRow
	torn uint64 // bytes
	end  int64  // of the complete rows, in bytes
}

// apply changes the log, after everything was checked.
func (r logRepair) apply(log vfs.File, dir string) error {
	path := filepath.Join(dir, root.RecordLog)
	if err := r.writeLost(log, dir, path); err != nil || r.torn == 0 {
		return err
	}
	if err := log.Truncate(r.end); err != nil {
		return root.IOError("truncate a torn last row of", dir, path, err)
	}
	// Without this, a power cut could bring the torn bytes back below a row
	// that was appended since.
	if err := log.Sync(); err != nil {
		return root.IOError("sync", dir, path, err)
	}
	return nil
}

// repairLog makes up for a repair that an opening postponed.
func (o *Ownership) repairLog(r logRepair) error {
	if len(r.lost) == 0 && r.torn == 0 {
		return nil
	}
	log, err := o.fs.OpenFile(o.path(root.RecordLog), vfs.ReadWrite)
	if err != nil {
		return root.IOError("open", o.dir, o.path(root.RecordLog), err)
	}
	return errors.Join(r.apply(log, o.dir), log.Close())
}

// checkLog says of record-log what an ordinary opening would, and changes
// nothing. It does not look at the records.
func (o *Ownership) checkLog() error {
	if err := o.requireTruth(); err != nil {
		return err
	}
	if err := arena.RequireCapacity(o.fs, o.dir); err != nil {
		return err
	}
	s := &Store{own: o, fs: o.fs, dir: o.dir}
	err := s.openFiles()
	if err == nil {
		err = s.checkTable()
	}
	return errors.Join(err, s.closeFiles())
}

func (s *Store) checkTable() error {
	info, err := s.arena.Stat()
	if err != nil {
		return root.IOError("open", s.dir, s.path(root.Records), err)
	}
	s.capacity = uint64(info.Size)
	_, _, _, err = s.load()
	return err
}

// loadTable reads record-log into a table, checking every complete row by
// itself and against the rows before it. It returns the bytes of an incomplete
// last row besides. Of a corrupt log it returns the rows before the bad one.
func loadTable(log vfs.File, dir string, capacity uint64) (table *rowlog.Table, torn uint64, err error) {
	path := filepath.Join(dir, root.RecordLog)
	info, err := log.Stat()
	if err != nil {
		return nil, 0, root.IOError("read", dir, path, err)
	}
	table, torn, err = rowlog.Read(log, info.Size, capacity)
	var bad *rowlog.RowError
	switch {
	case errors.As(err, &bad):
		return table, 0, root.Corrupt(dir, path, fmt.Sprintf("row %d at offset %d", bad.Index, bad.Offset()), bad.Err.Error(), "")
	case err != nil:
		return nil, 0, root.IOError("read", dir, path, err)
	}
	return table, torn, nil
}

// checkGlyphs checks that every row points at a complete glyph line whose
// typed hash is the row's.
func checkGlyphs(ctx context.Context, arena vfs.File, dir string, table *rowlog.Table) error {
	path := filepath.Join(dir, root.Records)
	err := table.CheckGlyphs(ctx, arena)
	var bad *rowlog.GlyphError
	switch {
	case errors.As(err, &bad):
		where := fmt.Sprintf("record #%d at offset %d", rowlog.ID(bad.Index), bad.Row.Offset)
		return root.Corrupt(dir, path, where, bad.Err.Error(), "the glyph line of "+bad.Row.Hash.String())
	case err != nil:
		return root.IOError("read", dir, path, err)
	}
	return nil
}

// refusalError is what a store answers that may not be used any more.
func (s *Store) refusalError() error {
	return &store.Error{
		Kind: store.Store, Doing: "execute", Root: s.dir,
		Found: "this store must be opened again after a failure", Err: s.refusal,
	}
}
