package logfile

import (
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Publish replaces record-log as a whole by the given rows.
func Publish(fsys vfs.FS, dir string, rows iter.Seq2[rowlog.Row, error]) error {
	buf := make([]byte, 0, rowlog.RowLen)
	err := vfs.Replace(fsys, dir, root.RecordLog, func(w io.Writer) error {
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
		return root.Resumable(root.IOError("replace", dir, filepath.Join(dir, root.RecordLog), err), dir)
	}
	return nil
}

// RemoveIndexes removes the posting lists and makes that durable.
func RemoveIndexes(fsys vfs.FS, dir string) error {
	path := filepath.Join(dir, root.Indexes)
	if err := vfs.RemoveTree(fsys, path); err != nil {
		return root.Resumable(root.IOError("remove", dir, path, err), dir)
	}
	// Without this, a power cut could bring lists back that name old ids.
	if err := fsys.SyncDir(dir); err != nil {
		return root.Resumable(root.IOError("sync directory", dir, dir, err), dir)
	}
	return nil
}

// Clean removes the index generations of other projections (seed 002), and the
// other entries of the root that are named.
func Clean(fsys vfs.FS, dir string, others ...string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return root.IOError("read directory", dir, dir, err)
	}
	for _, e := range entries {
		stale := strings.HasPrefix(e.Name, root.IndexStart) && e.Name != root.Indexes
		if !stale && !slices.Contains(others, e.Name) {
			continue
		}
		path := filepath.Join(dir, e.Name)
		if err := vfs.RemoveTree(fsys, path); err != nil {
			return root.IOError("remove", dir, path, err)
		}
	}
	return nil
}
