//go:build cgo

package lmdb

import (
	"errors"
	"fmt"
	"path/filepath"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/lmdb/pages"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// requireRegular refuses entries that LMDB would follow or wait for: through a
// link it would write into a file beside the root.
func requireRegular(fsys vfs.FS, dir string) error {
	for _, name := range []string{root.LMDBData, root.LMDBLock} {
		info, err := bootstrap.StatIfPresent(fsys, dir, name)
		if err != nil {
			return err
		}
		if info != nil && info.Type != vfs.Regular {
			return root.IOError("open", dir, filepath.Join(dir, name), vfs.ErrNotRegular)
		}
	}
	return nil
}

// requireDatabases refuses a file that was cut, and one whose list of databases is
// damaged. LMDB reads it through a mapping, where a page behind its end is a
// fault that ends the process. A file may be shorter than the last commit counts
// when only free pages are missing, so that what is short is looked through.
func (e *env) requireDatabases() error {
	if e.fs == nil {
		return nil
	}
	info, err := e.mdb.Info()
	if err != nil {
		return err
	}
	stat, err := e.mdb.Stat()
	if err != nil {
		return err
	}
	file, err := e.fs.Stat(e.path())
	if err != nil {
		return root.IOError("open", e.dir, e.path(), err)
	}
	if uint64(file.Size) >= (uint64(info.LastPNO)+1)*uint64(stat.PSize) {
		return e.checkPages(rowsName, hashesName, postingsName)
	}
	return e.checkPages()
}

// checkPages checks every page that the last commit names, but for those of the
// databases that are skipped, before LMDB is let near them: it believes its file.
func (e *env) checkPages(skip ...string) error {
	if e.fs == nil {
		return nil
	}
	f, err := e.fs.OpenFile(e.path(), vfs.ReadOnly)
	if err != nil {
		return root.IOError("open", e.dir, e.path(), err)
	}
	for {
		// The transaction keeps the pages of its commit from being used again.
		err = e.view(func(txn *mdb.Txn) error {
			info, err := f.Stat()
			if err != nil {
				return root.IOError("open", e.dir, e.path(), err)
			}
			return pages.Check(f, info.Size, uint64(txn.ID()), skip)
		})
		// Two commits of others since it began: the next has pages of its own.
		if !errors.Is(err, pages.ErrNoCommit) {
			break
		}
	}
	var damage *pages.Error
	if errors.As(err, &damage) {
		err = e.corrupt(fmt.Sprintf("page %d", damage.Page), damage.Found, "")
	}
	if failed := f.Close(); failed != nil {
		err = errors.Join(err, root.IOError("close", e.dir, e.path(), failed))
	}
	return err
}
