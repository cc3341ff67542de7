package main

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store/kept"
)

// lmdbPeer is LMDB: its root database. It gives bytes back by a copy that
// leaves out free pages.
type lmdbPeer struct{}

const (
	lmdbFile  = "data.mdb"
	lmdbMap   = 64 << 30 // of address space, in bytes
	lmdbBatch = 100_000  // records of a transaction
)

func openLMDB(dir string, flags uint) (*lmdb.Env, error) {
	env, err := lmdb.NewEnv()
	if err != nil {
		return nil, err
	}
	if err := env.SetMapSize(lmdbMap); err != nil {
		return nil, errors.Join(err, env.Close())
	}
	if err := env.Open(dir, flags|lmdb.NoMemInit, 0o666); err != nil {
		return nil, errors.Join(err, env.Close())
	}
	return env, nil
}

func (lmdbPeer) load(dir string, r *records) (err error) {
	env, err := openLMDB(dir, lmdb.NoSync) // a writable map would make the file as long as the map
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Sync(true), env.Close()) }()
	// A write transaction belongs to a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	txn, err := env.BeginTxn(nil, 0)
	if err != nil {
		return err
	}
	defer func() { txn.Abort() }() // does nothing behind a commit
	db, err := txn.OpenRoot(0)
	if err != nil {
		return err
	}
	return r.batches(lmdbBatch, func(id uint64, rec []byte) error {
		return txn.Put(db, key(id), rec, lmdb.Append)
	}, func() error {
		if err := txn.Commit(); err != nil {
			return err
		}
		next, err := env.BeginTxn(nil, 0)
		if err == nil {
			txn = next
		}
		return err
	})
}

func (lmdbPeer) compact(dir string, set *kept.Set) error {
	env, err := openLMDB(dir, 0)
	if err != nil {
		return err
	}
	second := filepath.Join(dir, "second")
	err = lmdbDelete(env, removed(set))
	if err == nil {
		err = os.Mkdir(second, 0o777)
	}
	if err == nil {
		err = env.CopyFlag(second, lmdb.CopyCompact)
	}
	if err := errors.Join(err, env.Close()); err != nil {
		return err
	}
	if err := replace(filepath.Join(second, lmdbFile), filepath.Join(dir, lmdbFile)); err != nil {
		return err
	}
	return os.Remove(second)
}

// lmdbDelete deletes ids in transactions that are synced each.
func lmdbDelete(env *lmdb.Env, ids []uint64) error {
	for len(ids) > 0 {
		some := ids[:min(lmdbBatch, len(ids))]
		ids = ids[len(some):]
		err := env.Update(func(txn *lmdb.Txn) error {
			db, err := txn.OpenRoot(0)
			if err != nil {
				return err
			}
			for _, id := range some {
				if err := txn.Del(db, key(id), nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (lmdbPeer) each(dir string, visit func(id uint64, rec []byte) error) (err error) {
	env, err := openLMDB(dir, lmdb.Readonly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	return env.View(func(txn *lmdb.Txn) error {
		txn.RawRead = true
		db, err := txn.OpenRoot(0)
		if err != nil {
			return err
		}
		c, err := txn.OpenCursor(db)
		if err != nil {
			return err
		}
		defer c.Close()
		for {
			k, rec, err := c.Get(nil, nil, lmdb.Next)
			if lmdb.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := visit(binary.BigEndian.Uint64(k), rec); err != nil {
				return err
			}
		}
	})
}
