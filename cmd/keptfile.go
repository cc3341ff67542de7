package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// keptFile is an open kept file whose header was read.
type keptFile struct {
	path string
	f    vfs.File
	r    *kept.Reader
}

// openKept opens a kept file and reads its header. A file that is absent or
// damaged is a mistake in what the run was given, not damage of the root.
func openKept(fsys vfs.FS, path string) (*keptFile, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--kept: %w", err)}
	}
	f, err := fsys.OpenFile(real, vfs.ReadOnly)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--kept: %w", err)}
	}
	r, err := kept.NewReader(io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return nil, errors.Join(keptError(path, err), f.Close())
	}
	return &keptFile{path, f, r}, nil
}

// keptError tells a damaged kept file from one that cannot be read.
func keptError(path string, err error) error {
	var form *kept.FormatError
	if errors.As(err, &form) {
		return &usageError{fmt.Errorf("--kept %s is damaged or no kept file: %w; preview again with lace sweep --save-kept", ui.Quote(path), err)}
	}
	return &store.Error{Kind: store.Store, Doing: "read", Path: path, Err: err}
}

// set reads the set, if it was decided for exactly the root whose rows are in
// table. Of a root that has grown since, or was compacted, it says nothing:
// the ids beyond its boundary were never looked at, and after a compaction the
// same ids name other records.
func (k *keptFile) set(root string, table *rowlog.Table) (*kept.Set, error) {
	h := k.r.Header
	refuse := func(found string) error {
		return &store.Error{
			Kind: store.Guarded, Doing: "apply", Root: root, Path: k.path, Found: found,
			Want: fmt.Sprintf("a preview of this root as it is now, with %d records", table.Position()),
			Hint: "nothing was changed; preview again with lace sweep " + root + " --policy FILE --save-kept FILE",
		}
	}
	switch {
	case h.Boundary > table.Position():
		return nil, refuse(fmt.Sprintf("a decision about %d records: this is another root, or it was compacted since", h.Boundary))
	case table.Digest(h.Boundary) != h.RootLog:
		return nil, refuse("a decision about other records: this is another root, or it was compacted since")
	case h.Boundary < table.Position():
		return nil, refuse(fmt.Sprintf("a decision about the first %d records: the root has grown since", h.Boundary))
	}
	set, err := k.r.Set()
	if err != nil {
		return nil, keptError(k.path, err)
	}
	return set, nil
}

// checkKeptPlace refuses a place for a kept file in the root dir, and one where
// another kind of file is: a mistyped name must not cost a policy.
func checkKeptPlace(fsys vfs.FS, dir, path string) error {
	if err := outside(dir, path); err != nil {
		return err
	}
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = kept.NewReader(io.NewSectionReader(f, 0, math.MaxInt64))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return &usageError{fmt.Errorf("--save-kept %s: only a kept file is replaced: %w", ui.Quote(path), err)}
	}
	return nil
}

// saveKept writes the set as a kept file, so that the path always has a whole
// one.
func saveKept(fsys vfs.FS, path string, set *kept.Set, table *rowlog.Table, policies [32]byte) error {
	rootLog := table.Digest(set.Boundary())
	err := vfs.Replace(fsys, filepath.Dir(path), filepath.Base(path), func(w io.Writer) error {
		return set.WriteFile(w, rootLog, policies)
	})
	if err == nil {
		return nil
	}
	e := &store.Error{Kind: store.Store, Doing: "save", Path: path, Err: err}
	if vfs.NoSpace(err) {
		e.Reason = store.NoSpace
	}
	return e
}
