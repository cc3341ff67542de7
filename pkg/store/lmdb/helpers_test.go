//go:build cgo

package lmdb_test

import (
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// minCapacity is the least capacity of a root, in bytes.
const minCapacity = 1 << 20

// subject brings this profile to the shared tests.
var subject = profiletest.Subject{Profile: lmdb.Quick(), Capacity: minCapacity, Ignore: []string{"lock.mdb"}}

// What the tests of every profile share.
var (
	must    = profiletest.Must
	quickFS = profiletest.QuickFS
	blob    = profiletest.Blob
	blobs   = profiletest.Blobs
	storeOp = profiletest.Op
)

// newRoot makes a root with some records and returns its open store.
func newRoot(t testing.TB, records ...[]byte) (fsys vfs.FS, dir string, s *lmdb.Store) {
	t.Helper()
	fsys, dir = quickFS(), filepath.Join(t.TempDir(), "root")
	b, err := lmdb.Quick().Create(t.Context(), dir, profile.Options{FS: fsys, Capacity: minCapacity})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	_, err = b.Execute(storeOp(records...))
	must(t, err)
	return fsys, dir, b.(*lmdb.Store)
}
