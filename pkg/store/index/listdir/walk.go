package listdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// maxDepth is how many directories deep a list path goes: shape, name, leaf.
const maxDepth = 3

// errStop ends a walk early.
var errStop = errors.New("stop")

// walk calls visit with the slash-separated path of everything below the
// directory that is no directory itself, in ascending order, without following
// links. What lies deeper than any list is passed as it is.
func (d *Dir) walk(visit func(list string, info vfs.Info) error) error {
	err := d.walkBelow("", 0, visit)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (d *Dir) walkBelow(prefix string, depth int, visit func(string, vfs.Info) error) error {
	entries, err := d.fs.ReadDir(d.at(prefix))
	if err != nil {
		return err
	}
	for _, e := range entries {
		list := strings.TrimPrefix(prefix+"/"+e.Name, "/")
		if e.Type == vfs.Directory && depth+1 < maxDepth {
			err = d.walkBelow(list, depth+1, visit)
		} else {
			err = visit(list, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Keys implements index.Durable.
func (d *Dir) Keys(yield func(index.Key) bool) error {
	err := d.walk(func(list string, info vfs.Info) error {
		if info.Type != vfs.Regular {
			return nil
		}
		if k, err := index.ParsePath(list); err == nil && !yield(k) {
			return errStop
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list posting lists in %s: %w", d.path, err)
	}
	return nil
}

// Repair removes leftover temporaries of interrupted publications and makes
// that durable. Everything else stays as it is.
func (d *Dir) Repair() error {
	dirty := make(map[string]bool)
	err := d.walk(func(list string, info vfs.Info) error {
		key, ok := strings.CutSuffix(list, vfs.TempSuffix)
		if !ok || info.Type != vfs.Regular {
			return nil
		}
		if _, err := index.ParsePath(key); err != nil {
			return nil // not one of ours
		}
		dirty[filepath.Dir(d.at(list))] = true
		return vfs.RemoveIfPresent(d.fs, d.at(list))
	})
	for dir := range dirty {
		err = errors.Join(err, d.fs.SyncDir(dir))
	}
	if err != nil {
		return fmt.Errorf("repair posting lists in %s: %w", d.path, err)
	}
	return nil
}

// Entry is what lies at one path below an index directory.
type Entry struct {
	Path           string // slash-separated, below the directory
	Bytes          int64
	Key            index.Key
	Records        uint64
	CheckedThrough store.Position
	// Err says why the entry is no usable list; the fields between Bytes and
	// Err are zero then, except Key when the path is one.
	Err error
}

// List describes everything below the directory in ascending path order, as
// inspection shows it. Its error is that the directory cannot be read.
func (d *Dir) List(highWater store.Position) ([]Entry, error) {
	var entries []Entry
	err := d.walk(func(list string, info vfs.Info) error {
		e, _ := d.inspect(list, info, highWater)
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list posting lists in %s: %w", d.path, err)
	}
	return entries, nil
}

func (d *Dir) inspect(list string, info vfs.Info, highWater store.Position) (Entry, *index.Posting) {
	e := Entry{Path: list, Bytes: info.Size}
	if info.Type != vfs.Regular {
		e.Bytes, e.Err = 0, vfs.ErrNotRegular
		return e, nil
	}
	if e.Key, e.Err = index.ParsePath(list); e.Err != nil {
		return e, nil
	}
	p, err := d.read(list, highWater)
	if err != nil {
		e.Err = err
		return e, nil
	}
	e.Records, e.CheckedThrough = p.Len(), p.CheckedThrough()
	return e, p
}
