package logfile

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Files are the two files that hold the truth of a root.
type Files struct {
	Dir   string
	Log   vfs.File
	Arena vfs.File
	// ArenaSize is the length of records when it was opened, in bytes.
	ArenaSize uint64
}

// Open opens both files of the root dir. What Close closes is what was opened,
// also after an error.
func Open(fsys vfs.FS, dir string, mode vfs.Mode) (*Files, error) {
	f := &Files{Dir: dir}
	for _, o := range []struct {
		name string
		file *vfs.File
	}{{root.RecordLog, &f.Log}, {root.Records, &f.Arena}} {
		path := filepath.Join(dir, o.name)
		file, err := fsys.OpenFile(path, mode)
		if err != nil {
			return nil, errors.Join(root.IOError("open", dir, path, err), f.Close())
		}
		*o.file = file
	}
	info, err := f.Arena.Stat()
	if err != nil {
		return nil, errors.Join(root.IOError("open", dir, f.path(root.Records), err), f.Close())
	}
	f.ArenaSize = uint64(info.Size)
	return f, nil
}

// Close closes both files. It is idempotent.
func (f *Files) Close() error {
	var err error
	for _, o := range []struct {
		name string
		file vfs.File
	}{{root.RecordLog, f.Log}, {root.Records, f.Arena}} {
		if o.file == nil {
			continue
		}
		if e := o.file.Close(); e != nil {
			err = errors.Join(err, root.IOError("close", f.Dir, f.path(o.name), e))
		}
	}
	f.Log, f.Arena = nil, nil
	return err
}

func (f *Files) path(name string) string { return filepath.Join(f.Dir, name) }

// Rows loads the row table of the root dir, and looks at no record.
func Rows(fsys vfs.FS, dir string) (*rowlog.Table, error) {
	files, err := Open(fsys, dir, vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	table, _, err := Load(files.Log, dir, files.ArenaSize)
	return table, errors.Join(err, files.Close())
}

// checkWhole checks the rows of the root dir and the glyph line of every
// record, as an ordinary opening does. It changes nothing.
func checkWhole(ctx context.Context, fsys vfs.FS, dir string) error {
	files, err := Open(fsys, dir, vfs.ReadOnly)
	if err != nil {
		return err
	}
	table, _, err := Load(files.Log, dir, files.ArenaSize)
	if err == nil {
		err = CheckGlyphs(ctx, files.Arena, dir, table)
	}
	return errors.Join(err, files.Close())
}

// checkLog says of record-log in the root dir what the opening of a writer
// would, and changes nothing. It looks at no record of a row that is there.
func checkLog(fsys vfs.FS, dir string) error {
	files, err := Open(fsys, dir, vfs.ReadOnly)
	if err != nil {
		return err
	}
	_, _, _, err = files.load(false)
	return errors.Join(err, files.Close())
}
