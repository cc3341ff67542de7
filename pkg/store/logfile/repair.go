package logfile

import (
	"errors"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Repair is what has to change in record-log before a writer appends: lost rows
// are put back, and an incomplete last row is cut off. The zero value changes
// nothing. A compaction that may still be refused keeps it until it goes on.
type Repair struct {
	lost []lostRow
	torn uint64 // bytes
	end  int64  // of the complete rows, in bytes
}

// Apply changes the log of the root dir, after everything was checked.
func (r Repair) Apply(log vfs.File, dir string) error {
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

// applyTo is Apply on a log that is not open. It does not open a log that needs
// nothing.
func (r Repair) applyTo(fsys vfs.FS, dir string) error {
	if len(r.lost) == 0 && r.torn == 0 {
		return nil
	}
	path := filepath.Join(dir, root.RecordLog)
	log, err := fsys.OpenFile(path, vfs.ReadWrite)
	if err != nil {
		return root.IOError("open", dir, path, err)
	}
	err = r.Apply(log, dir)
	if e := log.Close(); e != nil {
		err = errors.Join(err, root.IOError("close", dir, path, e))
	}
	return err
}

// writeLost puts lost rows back.
func (r Repair) writeLost(log vfs.File, dir, path string) error {
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
