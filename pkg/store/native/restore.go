package native

import (
	"errors"
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// lostRow is a row that record-log has room for and no bytes.
type lostRow struct {
	index uint64 // zero-based
	row   rowlog.Row
}

// restore loads a log in which some rows are all zeros. A power cut during an
// admission leaves that: the log's new size reached the disk, the bytes of the
// rows did not. Such rows were never acknowledged, but neither can they be told
// from acknowledged ones that the medium has lost, so they are not cut off.
// The bytes of their records were durable before; where the arena has complete
// records, proven by every digest, exactly in the place of the lost rows, these
// are the rows. Nothing is written here.
func (s *Store) restore() (table *rowlog.Table, torn uint64, lost []lostRow, err error) {
	info, err := s.log.Stat()
	if err != nil {
		return nil, 0, nil, root.IOError("read", s.dir, s.path(root.RecordLog), err)
	}
	table = &rowlog.Table{}
	torn, err = rowlog.Scan(s.log, info.Size, func(index uint64, encoded []byte) error {
		row, err := rowlog.Decode(encoded)
		if isZero(encoded) {
			if row, err = arena.RowAt(s.arena, table.End(), s.capacity); err == nil {
				lost = append(lost, lostRow{index, row})
			}
		}
		if err == nil {
			err = row.CheckInside(s.capacity)
		}
		if err == nil {
			err = table.Append(row)
		}
		if err != nil {
			return fmt.Errorf("row %d at offset %d: %w", index, index*rowlog.RowLen, err)
		}
		return nil
	})
	if err != nil {
		return nil, 0, nil, err
	}
	return table, torn, lost, nil
}

// writeLost puts lost rows back.
func (r logRepair) writeLost(log vfs.File, dir, path string) error {
	if len(r.lost) == 0 {
		return nil
	}
	buf := make([]byte, 0, rowlog.RowLen)
	for _, l := range r.lost {
		if _, err := log.WriteAt(l.row.AppendTo(buf), int64(l.index)*rowlog.RowLen); err != nil {
			return root.IOError("restore a row of", dir, path, err)
		}
	}
	// Without this, rows could be shown that the next power cut takes away.
	if err := log.Sync(); err != nil {
		return root.IOError("sync", dir, path, err)
	}
	return nil
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// load loads the log, and for a writer restores lost rows in memory. Its error
// is that of the log as it is.
func (s *Store) load() (table *rowlog.Table, torn uint64, lost []lostRow, err error) {
	table, torn, err = loadTable(s.log, s.dir, s.capacity)
	if s.readOnly || !errors.Is(err, store.CorruptStore) {
		// A log that cannot be read now is not one that has lost rows.
		return table, torn, nil, err
	}
	restored, torn, lost, why := s.restore()
	if why != nil {
		return nil, 0, nil, err
	}
	return restored, torn, lost, nil
}
