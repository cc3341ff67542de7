package listdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// durableLists is a store whose records live in memory and whose lists are
// files, so that the lists can be tried without a root around them.
type durableLists struct {
	*memory.Store
	dir      string
	admitted []store.NewRecord
}

func openStore(t *testing.T, dir string, admitted []store.NewRecord, writable bool) store.Backend {
	t.Helper()
	lists := listdir.New(osfs.New(), dir)
	if writable {
		if err := lists.Repair(); err != nil {
			t.Fatal(err)
		}
	}
	d := &durableLists{dir: dir, Store: memory.NewWithLists(index.Options{Durable: lists, Publish: writable})}
	if _, err := d.Execute(store.StoreRecords{Records: admitted}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *durableLists) Execute(op store.Op) (store.Result, error) {
	res, err := d.Store.Execute(op)
	if admit, ok := op.(store.StoreRecords); ok && err == nil {
		d.admitted = append(d.admitted, admit.Records...)
	}
	return res, err
}

func TestConformanceWithDurableLists(t *testing.T) {
	reopen := func(t *testing.T, closed store.Backend, writable bool) store.Backend {
		d := closed.(*durableLists)
		return openStore(t, d.dir, d.admitted, writable)
	}
	base := t.TempDir()
	storetest.Run(t, func(t *testing.T) store.Backend {
		parent, err := os.MkdirTemp(base, "root")
		if err != nil {
			t.Fatal(err)
		}
		return openStore(t, filepath.Join(parent, "indexes-v2"), nil, true)
	}, storetest.Capabilities{
		Reopen: func(t *testing.T, closed store.Backend) store.Backend { return reopen(t, closed, true) },
		ReopenReadOnly: func(t *testing.T, closed store.Backend) store.Backend {
			return reopen(t, closed, false)
		},
		Lists: func(_ *testing.T, closed store.Backend) (vfs.FS, string) {
			return osfs.New(), closed.(*durableLists).dir
		},
		Visited: func(b store.Backend) uint64 { return b.(*durableLists).CandidatesVisited() },
	})
}
