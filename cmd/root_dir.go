package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/lace-store/lace/pkg/store"
)

// phaseOpen is the phase in which a root is found, locked, opened and its rows
// are read.
const phaseOpen = "open"

// resolveRoot follows symbolic links to the root directory once, so that every
// alias names the same locks, and refuses file systems whose locks or mappings
// are not dependable.
func (s *session) resolveRoot(root string, lock lockOptions) (string, error) {
	if root == "" {
		// An empty shell variable must not name the current directory.
		return "", &usageError{errors.New("ROOT is empty")}
	}
	if err := lock.io.apply(s); err != nil {
		return "", err
	}
	s.progress.Enter(phaseOpen)
	dir, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &store.Error{Kind: store.NotRoot, Doing: "open", Root: root, Found: "nothing here", Want: "a Lace root", Err: err}
	}
	if err != nil {
		return "", &store.Error{Kind: store.Store, Doing: "open", Root: root, Err: err}
	}
	space, err := s.fs.Space(dir)
	if err != nil {
		return "", &store.Error{Kind: store.Store, Doing: "measure the file system of", Root: root, Err: err}
	}
	if space.Network && !lock.allowNetworkFS {
		return "", &store.Error{
			Kind: store.Unsupported, Doing: "open", Root: root,
			Found: fmt.Sprintf("a %s file system, whose locks and mappings are not dependable", space.FSType),
			Hint:  "move the root to a local file system, or say --allow-network-fs when nothing else can have it open",
		}
	}
	return dir, nil
}

// outside refuses a file that a command is asked to write if it would lie in
// the root: what is not the store's own must not be there. An empty path is
// none.
func outside(dir, path string) error {
	if path == "" {
		return nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("the directory of %s: %w", path, err)
	}
	root, err := filepath.Abs(dir)
	if err == nil {
		parent, err = filepath.Abs(parent)
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, parent); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return &usageError{fmt.Errorf("%s lies in the root %s, where only the store's own files may be", path, dir)}
	}
	return nil
}
