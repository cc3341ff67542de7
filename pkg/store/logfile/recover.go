package logfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// Recovered is what an opening found in record-log.
type Recovered struct {
	Table *rowlog.Table
	// TornBytes is the length of an incomplete last row, which was never
	// acknowledged.
	TornBytes uint64
	// Repair is what a writer has to change before it appends. Nothing was
	// changed yet.
	Repair Repair
}

// Recover loads and checks the log and the glyph line of every record, and
// changes nothing. For a writer it reads the log from the disk, and finds rows
// that were lost; the log must have been synced just before.
func (f *Files) Recover(ctx context.Context, readOnly bool) (Recovered, error) {
	if !readOnly {
		if err := f.distrustCache(); err != nil {
			return Recovered{}, err
		}
	}
	table, torn, lost, err := f.load(readOnly)
	if err != nil {
		return Recovered{}, err
	}
	if err := CheckGlyphs(ctx, f.Arena, f.Dir, table); err != nil {
		return Recovered{}, err
	}
	found := Recovered{Table: table, TornBytes: torn}
	if !readOnly {
		found.Repair = Repair{lost: lost, torn: torn, end: int64(table.Position()) * rowlog.RowLen}
	}
	return found, nil
}

// distrustCache has the log read from the disk. When a sync of it failed and
// its writer died before it could cut the rows off again, the cache goes on
// showing rows that the disk does not have, and later syncs say nothing. The
// log was synced just now, so that every page is clean and can be forgotten.
func (f *Files) distrustCache() error {
	info, err := f.Log.Stat()
	if err == nil {
		err = f.Log.DropCache(0, info.Size)
	}
	if err != nil {
		return root.IOError("read anew", f.Dir, f.path(root.RecordLog), err)
	}
	return nil
}

// lostRow is a row that record-log has room for and no bytes.
type lostRow struct {
	index uint64 // zero-based
	row   rowlog.Row
}

// load loads the log, and for a writer restores lost rows in memory. Its error
// is that of the log as it is.
func (f *Files) load(readOnly bool) (table *rowlog.Table, torn uint64, lost []lostRow, err error) {
	table, torn, err = Load(f.Log, f.Dir, f.ArenaSize)
	if readOnly || !errors.Is(err, store.CorruptStore) {
		// A log that cannot be read now is not one that has lost rows.
		return table, torn, nil, err
	}
	restored, torn, lost, why := f.restore()
	if why != nil {
		return nil, 0, nil, err
	}
	return restored, torn, lost, nil
}

// restore loads a log in which some rows are all zeros. A power cut during an
// admission leaves that: the log's new size reached the disk, the bytes of the
// rows did not. Such rows were never acknowledged, but neither can they be told
// from acknowledged ones that the medium has lost, so they are not cut off.
// The bytes of their records were durable before; where the arena has complete
// records, proven by every digest, exactly in the place of the lost rows, these
// are the rows. Nothing is written here.
func (f *Files) restore() (table *rowlog.Table, torn uint64, lost []lostRow, err error) {
	info, err := f.Log.Stat()
	if err != nil {
		return nil, 0, nil, root.IOError("read", f.Dir, f.path(root.RecordLog), err)
	}
	table = &rowlog.Table{}
	torn, err = rowlog.Scan(f.Log, info.Size, func(index uint64, encoded []byte) error {
		row, err := rowlog.Decode(encoded)
		if isZero(encoded) {
			if row, err = arena.RowAt(f.Arena, table.End(), f.ArenaSize); err == nil {
				lost = append(lost, lostRow{index, row})
			}
		}
		if err == nil {
			err = row.CheckInside(f.ArenaSize)
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

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
