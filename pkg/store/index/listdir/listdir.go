// Package listdir keeps posting lists in the directory indexes-v2 of a root:
// bounded reading, publication by complete replacement, repair of leftovers,
// listing and checking. It must not know heat, queries or what a root is
// besides; package index has the bytes and the paths of the lists.
package listdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Dir is one index directory. It need not exist: without it there are no
// lists, and the first publication makes it. Dir implements index.Durable.
type Dir struct {
	fs   vfs.FS
	path string
}

var _ index.Durable = (*Dir)(nil)

// New returns the Dir at path. Nothing is touched.
func New(fsys vfs.FS, path string) *Dir { return &Dir{fs: fsys, path: path} }

// at returns the host path of a list path.
func (d *Dir) at(list string) string { return filepath.Join(d.path, filepath.FromSlash(list)) }

// Read implements index.Durable. The size is bounded by the high-water before
// anything is allocated.
func (d *Dir) Read(k index.Key, highWater store.Position) (*index.Posting, error) {
	list, ok := k.Path()
	if !ok {
		return nil, nil
	}
	p, err := d.read(list, highWater)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

func (d *Dir) read(list string, highWater store.Position) (p *index.Posting, err error) {
	f, err := d.fs.OpenFile(d.at(list), vfs.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("read posting list: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read posting list %s: %w", d.at(list), err)
	}
	p, err = index.ReadPosting(f, info.Size, highWater)
	if err != nil {
		return nil, fmt.Errorf("read posting list %s: %w", d.at(list), err)
	}
	return p, nil
}

// Publish implements index.Durable: one complete replacement, which at every
// moment leaves the list wholly old, absent or wholly new.
func (d *Dir) Publish(k index.Key, p *index.Posting) (bool, error) {
	list, ok := k.Path()
	if !ok {
		return false, nil
	}
	path := d.at(list)
	if err := d.makeParents(filepath.Dir(path)); err != nil {
		return false, fmt.Errorf("publish posting list %s: %w", path, err)
	}
	if err := d.replace(path, p); err != nil {
		return false, fmt.Errorf("publish posting list %s: %w", path, err)
	}
	return true, nil
}

// replace follows the order of seed 002. Unlike vfs.Replace it removes the
// old list before the rename: a list may be missing, it is rebuilt then, and
// some hosts cannot rename over a file.
func (d *Dir) replace(path string, p *index.Posting) error {
	dir := filepath.Dir(path)
	temp := path + vfs.TempSuffix
	// A leftover is not written into: its cached pages may be those of a
	// failed sync.
	if err := vfs.RemoveIfPresent(d.fs, temp); err != nil {
		return err
	}
	if err := d.writeTemp(temp, p); err != nil {
		return errors.Join(err, vfs.RemoveIfPresent(d.fs, temp))
	}
	if err := vfs.RemoveIfPresent(d.fs, path); err != nil {
		return errors.Join(err, vfs.RemoveIfPresent(d.fs, temp))
	}
	if err := d.fs.Rename(temp, path); err != nil {
		return errors.Join(err, vfs.RemoveIfPresent(d.fs, temp))
	}
	// Without this, a crash may undo the publication: the list would be
	// rebuilt, which costs a scan but loses nothing.
	return d.fs.SyncDir(dir)
}

func (d *Dir) writeTemp(temp string, p *index.Posting) (err error) {
	f, err := d.fs.OpenFile(temp, vfs.ReadWrite|vfs.Create|vfs.Exclusive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := p.WriteTo(io.NewOffsetWriter(f, 0)); err != nil {
		return err
	}
	// Without this, a crash after the rename may leave a list of the right
	// name and size whose words are zeros or torn.
	return f.Sync()
}

// makeParents makes the directories from d.path down to dir that are absent.
func (d *Dir) makeParents(dir string) error {
	info, err := d.fs.Stat(dir)
	switch {
	case err == nil && info.Type == vfs.Directory:
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a directory", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if dir != d.path {
		if err := d.makeParents(parent); err != nil {
			return err
		}
	}
	if err := d.fs.Mkdir(dir); err != nil {
		return err
	}
	return d.fs.SyncDir(parent)
}
