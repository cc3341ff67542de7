package logfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Load reads record-log into a table, checking every complete row by itself and
// against the rows before it. size is that of the arena, in bytes. It returns
// the bytes of an incomplete last row besides. Of a corrupt log it returns the
// rows before the bad one.
func Load(log vfs.File, dir string, size uint64) (table *rowlog.Table, torn uint64, err error) {
	path := filepath.Join(dir, root.RecordLog)
	info, err := log.Stat()
	if err != nil {
		return nil, 0, root.IOError("read", dir, path, err)
	}
	table, torn, err = rowlog.Read(log, info.Size, size)
	var bad *rowlog.RowError
	switch {
	case errors.As(err, &bad):
		return table, 0, root.Corrupt(dir, path, fmt.Sprintf("row %d at offset %d", bad.Index, bad.Offset()), bad.Err.Error(), "")
	case err != nil:
		return nil, 0, root.IOError("read", dir, path, err)
	}
	return table, torn, nil
}

// CheckGlyphs checks that every row points at a complete glyph line whose typed
// hash is the row's.
func CheckGlyphs(ctx context.Context, arena vfs.File, dir string, table *rowlog.Table) error {
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
