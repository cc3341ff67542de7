package node_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// subject brings this profile to the shared tests. Its operator knows that no
// process has the root open, because the test has killed it.
var subject = profiletest.Subject{Profile: node.Profile{}, Operator: deleteSentinel}

func deleteSentinel(fsys vfs.FS, dir string) error {
	path := filepath.Join(dir, root.NodeLock)
	if _, err := fsys.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return fsys.Remove(path)
}

// openers are all ways into a root. A successful one is closed again.
var openers = []struct {
	name string
	open func(fsys vfs.FS, dir string) error
}{
	{"create", func(fsys vfs.FS, dir string) error {
		return closed(node.Create(context.Background(), dir, profile.Options{FS: fsys}))
	}},
	{"open", func(fsys vfs.FS, dir string) error {
		return closed(node.Open(context.Background(), dir, profile.Options{FS: fsys}))
	}},
	{"read only", func(fsys vfs.FS, dir string) error {
		return closed(node.Open(context.Background(), dir, profile.Options{FS: fsys, ReadOnly: true}))
	}},
	{"examine", func(fsys vfs.FS, dir string) error {
		x, err := node.Profile{}.Examine(context.Background(), dir, profile.Options{FS: fsys})
		if err != nil {
			return err
		}
		return errors.Join(x.Damage(), x.Close())
	}},
	{"compact", func(fsys vfs.FS, dir string) error {
		_, err := node.Profile{}.Compact(context.Background(), dir, profile.CompactOptions{Open: profile.Options{FS: fsys}}, profiletest.KeepAll)
		return err
	}},
	{"resume", func(fsys vfs.FS, dir string) error {
		_, err := node.Profile{}.Resume(context.Background(), dir, profile.CompactOptions{Open: profile.Options{FS: fsys}})
		return err
	}},
}

func closed(s *node.Store, err error) error {
	if err != nil {
		return err
	}
	return s.Close()
}

func must(t testing.TB, err error) {
	t.Helper()
	profiletest.Must(t, err)
}
