package native

import "context"

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
