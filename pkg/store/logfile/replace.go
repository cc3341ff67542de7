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

// Publisher is what profiles with a record-log share of a compact.Publisher: the
// log is replaced as a whole, and the posting lists are a directory.
type Publisher struct {
	Files vfs.FS
	Root  string // the root directory
}

// FS implements compact.Profile.
func (p Publisher) FS() vfs.FS { return p.Files }

// Dir implements compact.Profile.
func (p Publisher) Dir() string { return p.Root }

// Publish implements compact.Publisher.
func (p Publisher) Publish(rows iter.Seq2[rowlog.Row, error]) error {
	buf := make([]byte, 0, rowlog.RowLen)
	err := vfs.Replace(p.Files, p.Root, root.RecordLog, func(w io.Writer) error {
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
		return root.Resumable(root.IOError("replace", p.Root, filepath.Join(p.Root, root.RecordLog), err), p.Root)
	}
	return nil
}

// RemoveIndexes implements compact.Publisher.
func (p Publisher) RemoveIndexes() error {
	path := filepath.Join(p.Root, root.Indexes)
	if err := vfs.RemoveTree(p.Files, path); err != nil {
		return root.Resumable(root.IOError("remove", p.Root, path, err), p.Root)
	}
	// Without this, a power cut could bring lists back that name old ids.
	if err := p.Files.SyncDir(p.Root); err != nil {
		return root.Resumable(root.IOError("sync directory", p.Root, p.Root, err), p.Root)
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
