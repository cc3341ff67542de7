package native

import (
	"context"

	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/logfile"
)

// recover loads and checks the log and the glyph line of every record; only
// then anything is changed. A torn last row was never acknowledged: a writer
// truncates it, a reader reports it, and a compaction that may still be refused
// leaves it until it goes on.
func (s *Store) recover(ctx context.Context) error {
	found, err := s.files.Recover(ctx, s.readOnly)
	if err != nil {
		return err
	}
	s.table, s.repair = found.Table, found.Repair
	if s.readOnly {
		s.tornBytes = found.TornBytes
		return nil
	}
	if s.postponed {
		return nil
	}
	return s.repair.Apply(s.files.Log, s.dir)
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
	return logfile.CheckLog(o.fs, o.dir)
}
