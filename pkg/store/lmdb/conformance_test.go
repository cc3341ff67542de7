//go:build cgo

package lmdb_test

import (
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/storetest"
)

const testCapacity = 64 << 20

func TestConformance(t *testing.T) {
	fsys := quickFS()
	reopen := func(readOnly bool) func(t *testing.T, closed store.Backend) store.Backend {
		return func(t *testing.T, closed store.Backend) store.Backend {
			s, err := lmdb.Quick().Open(t.Context(), closed.(*lmdb.Store).Dir(), profile.Options{FS: fsys, ReadOnly: readOnly})
			must(t, err)
			return s
		}
	}
	storetest.Run(t, func(t *testing.T) store.Backend {
		s, err := lmdb.Quick().Create(t.Context(), filepath.Join(t.TempDir(), "root"), profile.Options{FS: fsys, Capacity: testCapacity})
		must(t, err)
		return s
	}, storetest.Capabilities{
		Reopen:           reopen(false),
		ReopenReadOnly:   reopen(true),
		ListsAtAdmission: true,
		Visited:          func(b store.Backend) uint64 { return b.(*lmdb.Store).CandidatesVisited() },
		LoseRow: func(t *testing.T, b store.Backend, id store.RecordID) {
			must(t, lmdb.LoseRow(b.(*lmdb.Store), id))
		},
	})
}
