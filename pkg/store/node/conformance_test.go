package node_test

import (
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/store/vfs"
)

func TestConformance(t *testing.T) {
	fsys := profiletest.QuickFS()
	reopen := func(readOnly bool) func(t *testing.T, closed store.Backend) store.Backend {
		return func(t *testing.T, closed store.Backend) store.Backend {
			s, err := node.Open(t.Context(), closed.(*node.Store).Dir(), profile.Options{FS: fsys, ReadOnly: readOnly})
			must(t, err)
			return s
		}
	}
	storetest.Run(t, func(t *testing.T) store.Backend {
		s, err := node.Create(t.Context(), filepath.Join(t.TempDir(), "root"), profile.Options{FS: fsys})
		must(t, err)
		return s
	}, storetest.Capabilities{
		Reopen:         reopen(false),
		ReopenReadOnly: reopen(true),
		Lists: func(t *testing.T, closed store.Backend) (vfs.FS, string) {
			return fsys, filepath.Join(closed.(*node.Store).Dir(), root.Indexes)
		},
		Visited: func(b store.Backend) uint64 { return b.(*node.Store).CandidatesVisited() },
	})
}
