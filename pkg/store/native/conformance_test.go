package native_test

import (
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/store/vfs"
)

const testCapacity = 64 << 20

func TestConformance(t *testing.T) {
	fsys := quickFS()
	reopen := func(readOnly bool) func(t *testing.T, closed store.Backend) store.Backend {
		return func(t *testing.T, closed store.Backend) store.Backend {
			s, err := native.Open(t.Context(), closed.(*native.Store).Dir(), native.Options{FS: fsys, ReadOnly: readOnly})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	storetest.Run(t, func(t *testing.T) store.Backend {
		s, err := native.Create(t.Context(), filepath.Join(t.TempDir(), "root"), native.Options{FS: fsys, Capacity: testCapacity})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, storetest.Capabilities{
		Reopen:         reopen(false),
		ReopenReadOnly: reopen(true),
		Lists: func(t *testing.T, closed store.Backend) (vfs.FS, string) {
			return fsys, filepath.Join(closed.(*native.Store).Dir(), root.Indexes)
		},
		Visited: func(b store.Backend) uint64 { return b.(*native.Store).CandidatesVisited() },
	})
}
