//go:build cgo

package lmdb

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// firstMapSize is how much of data.mdb an opening maps at least, in bytes. The
// map is address space and not storage. A write that does not fit doubles it,
// and what another process has grown is mapped when it is met, so that no size
// has to be foreseen: one that is always enough would be more than a small
// machine can map, and on Windows be charged as memory.
const firstMapSize = 1 << 26

// Names of the databases.
const (
	rowsName     = "records-by-id"
	hashesName   = "ids-by-hash"
	postingsName = "postings"
)

// owners is which roots this process has an environment of, by the identity of
// their store-format. LMDB's locks belong to a process: a second environment of
// one root would let go of the locks of the first when it is closed, without
// either noticing. Nothing smaller than the process can know that.
var owners = struct {
	sync.Mutex
	open map[vfs.FileID]bool
}{open: make(map[vfs.FileID]bool)}

// claim is the right of this process to have an environment of one root.
type claim struct{ id vfs.FileID }

func claimRoot(fsys vfs.FS, dir string) (claim, error) {
	path := filepath.Join(dir, root.Marker)
	info, err := fsys.Stat(path)
	if err != nil {
		return claim{}, root.IOError("open", dir, path, err)
	}
	owners.Lock()
	defer owners.Unlock()
	if owners.open[info.FileID] {
		return claim{}, &store.Error{
			Kind: store.Store, Reason: store.Busy, Doing: "open", Root: dir, Path: filepath.Join(dir, root.LMDBData),
			Found: "this process has the root open already, and LMDB allows one environment in a process",
		}
	}
	owners.open[info.FileID] = true
	return claim{info.FileID}, nil
}

func (c claim) release() {
	owners.Lock()
	defer owners.Unlock()
	delete(owners.open, c.id)
}

// env is an opened environment and its three databases. It is not safe for
// concurrent use: the map may only be resized while no transaction is open.
type env struct {
	fs                     vfs.FS // that has data.mdb; nil in tests that put it elsewhere
	dir                    string // of the root
	claim                  claim
	mdb                    *mdb.Env
	rows, hashes, postings mdb.DBI
	commit                 func() error // hooks.commit
}

// envMode is how an environment is opened.
type envMode uint8

const (
	envRead   envMode = iota // it must be there
	envWrite                 // it must be there
	envCreate                // make it, or what of it is missing
)

// openEnv opens the environment in dir, which is the root except in tests.
func openEnv(fsys vfs.FS, dir string, mode envMode, o hooks) (*env, error) {
	e, place := &env{fs: fsys, dir: dir, commit: o.commit}, dir
	if o.envDir != nil {
		e.fs, place = nil, o.envDir(dir)
	} else if err := requireRegular(fsys, dir); err != nil {
		return nil, err
	}
	var err error
	if e.claim, err = claimRoot(fsys, dir); err != nil {
		return nil, err
	}
	if err := e.open(place, mode, o); err != nil {
		return nil, errors.Join(e.failed("open", err), e.close())
	}
	return e, nil
}

func (e *env) open(place string, mode envMode, h hooks) (err error) {
	if e.mdb, err = mdb.NewEnv(); err != nil {
		return err
	}
	if err := errors.Join(e.mdb.SetMaxDBs(3), e.mdb.SetMapSize(cmp.Or(h.mapSize, firstMapSize))); err != nil {
		return err
	}
	flags := h.flags
	if mode == envRead {
		// Where even lock.mdb cannot be made, on a read-only mount, LMDB does
		// without it: nobody can write there.
		flags |= mdb.Readonly
	}
	if err := e.mdb.Open(place, flags, 0o666); err != nil {
		return err
	}
	if mode != envRead {
		// Readers that died would keep pages from being used again.
		if _, err := e.mdb.ReaderCheck(); err != nil {
			return err
		}
	}
	if err := e.requireDatabases(); err != nil {
		return err
	}
	run := e.mdb.View
	if mode == envCreate {
		run = e.mdb.Update
	}
	return e.resized(func() error { return run(func(txn *mdb.Txn) error { return e.openDatabases(txn, mode) }) })
}

func (e *env) openDatabases(txn *mdb.Txn, mode envMode) (err error) {
	for _, d := range []struct {
		name  string
		dbi   *mdb.DBI
		flags uint
	}{{rowsName, &e.rows, 0}, {hashesName, &e.hashes, 0}, {postingsName, &e.postings, mdb.DupSort | mdb.DupFixed}} {
		flags := d.flags
		if mode == envCreate {
			flags |= mdb.Create
		}
		if *d.dbi, err = txn.OpenDBI(d.name, flags); err != nil {
			if mdb.IsNotFound(err) {
				return e.corrupt("", "no database "+d.name, "")
			}
			return err
		}
		has, err := txn.Flags(*d.dbi)
		if err != nil {
			return err
		}
		if has != d.flags {
			return e.corrupt("database "+d.name, fmt.Sprintf("flags %#x", has), fmt.Sprintf("%#x", d.flags))
		}
	}
	return nil
}

// view runs f in a read transaction. What f reads of LMDB's memory is valid in
// it only.
func (e *env) view(f func(txn *mdb.Txn) error) error {
	err := e.resized(func() error {
		return e.mdb.View(func(txn *mdb.Txn) error {
			txn.RawRead = true
			return f(txn)
		})
	})
	return e.failed("read", err)
}

// update runs f in a write transaction and commits what it did. f runs again
// when the map had to grow.
func (e *env) update(f func(txn *mdb.Txn) error) error {
	for {
		err := e.resized(func() error {
			return e.mdb.Update(func(txn *mdb.Txn) error {
				if err := f(txn); err != nil || e.commit == nil {
					return err
				}
				return e.commit()
			})
		})
		if !isErrno(err, mdb.MapFull) {
			return e.failed("write", err)
		}
		info, err := e.mdb.Info()
		if err == nil {
			err = e.mdb.SetMapSize(2 * info.MapSize)
		}
		if err != nil {
			return e.failed("grow the map of", err)
		}
	}
}

// resized runs a transaction, again if another process has grown the
// environment beyond what this one maps. A transaction finds that out before
// it has begun.
func (e *env) resized(run func() error) error {
	for {
		err := run()
		if !isErrno(err, mdb.MapResized) {
			return err
		}
		if err := e.mdb.SetMapSize(0); err != nil {
			return err
		}
	}
}

// close closes the environment, once, and gives up the claim.
func (e *env) close() error {
	var err error
	if e.mdb != nil {
		err = e.mdb.Close()
		e.mdb = nil
	}
	e.claim.release()
	return e.failed("close", err)
}

// path names data.mdb in errors, wherever a test has put it.
func (e *env) path() string { return filepath.Join(e.dir, root.LMDBData) }

// corrupt is a CorruptStore error about a place in the environment.
func (e *env) corrupt(where, found, want string) error {
	return root.Corrupt(e.dir, e.path(), where, found, want)
}

// failed turns an error of LMDB into one of the store.
func (e *env) failed(doing string, err error) error {
	var known *store.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	for _, damage := range []mdb.Errno{mdb.Corrupted, mdb.PageNotFound, mdb.Invalid, mdb.VersionMismatch, mdb.Incompatible} {
		if isErrno(err, damage) {
			return e.corrupt("", err.Error(), "")
		}
	}
	var op *mdb.OpError
	if errors.As(err, &op) {
		err = opError{op}
	}
	return root.IOError(doing, e.dir, e.path(), err)
}

// opError shows the system's error inside one of the binding.
type opError struct{ op *mdb.OpError }

func (e opError) Error() string   { return e.op.Error() }
func (e opError) Unwrap() []error { return []error{e.op, e.op.Errno} }

// isErrno looks for an error number of LMDB anywhere in err.
func isErrno(err error, want mdb.Errno) bool {
	var op *mdb.OpError
	return errors.As(err, &op) && op.Errno == want
}
