package native_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// A refused lock names its holder where the system tells, also through a
// wrapper of the file system.
func TestBusyNamesTheHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	fsys := osfs.New()
	s, err := native.Create(t.Context(), dir, native.Options{FS: fsys, Capacity: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(vfs.LockHolders(fsys, filepath.Join(dir, root.Lock))) == 0 {
		t.Skip("this system does not tell who holds a lock")
	}
	_, err = native.Open(t.Context(), dir, native.Options{FS: faultfs.New(fsys, dir)})
	if want := fmt.Sprintf("process %d ", os.Getpid()); !errors.Is(err, store.Busy) || !strings.Contains(err.Error(), want) {
		t.Errorf("Open = %v, want %q", err, want)
	}
}
