package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/lace-store/lace/pkg/store/kept"
)

// boltPeer is bbolt: one bucket. It gives bytes back by a compaction into a
// second file.
type boltPeer struct{}

const (
	boltFile   = "records.bolt"
	boltBatch  = 100_000  // records of a transaction
	boltCopy   = 64 << 20 // bytes of a transaction of the compaction
	boltMapped = 4 << 30  // mapped from the start, in bytes; growing stops the world
)

var boltBucket = []byte("records")

// openBolt opens a database. Without sync it is written for speed alone.
func openBolt(path string, sync, readOnly bool) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o666, &bbolt.Options{NoSync: !sync, NoFreelistSync: true, NoGrowSync: !sync,
		FreelistType: bbolt.FreelistMapType, InitialMmapSize: boltMapped, ReadOnly: readOnly})
}

func (boltPeer) load(dir string, r *records) (err error) {
	db, err := openBolt(filepath.Join(dir, boltFile), false, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Sync(), db.Close()) }()
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	defer func() {
		if e := tx.Rollback(); !errors.Is(e, bolterrors.ErrTxClosed) {
			err = errors.Join(err, e)
		}
	}()
	bucket := func() (*bbolt.Bucket, error) {
		b, err := tx.CreateBucketIfNotExists(boltBucket)
		if err == nil {
			b.FillPercent = 1 // ids come in order
		}
		return b, err
	}
	b, err := bucket()
	if err != nil {
		return err
	}
	return r.batches(boltBatch, func(id uint64, rec []byte) error {
		return b.Put(key(id), bytes.Clone(rec)) // bbolt keeps the bytes until the commit
	}, func() error {
		if err := tx.Commit(); err != nil {
			return err
		}
		next, err := db.Begin(true)
		if err != nil {
			return err
		}
		tx = next
		b, err = bucket()
		return err
	})
}

func (boltPeer) compact(dir string, set *kept.Set) error {
	path := filepath.Join(dir, boltFile)
	db, err := openBolt(path, true, false)
	if err != nil {
		return err
	}
	second := path + ".second"
	err = boltDelete(db, removed(set))
	if err == nil {
		err = boltCompact(db, second)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return replace(second, path)
}

// boltDelete deletes ids in transactions that are synced each.
func boltDelete(db *bbolt.DB, ids []uint64) error {
	for len(ids) > 0 {
		some := ids[:min(boltBatch, len(ids))]
		ids = ids[len(some):]
		err := db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket(boltBucket)
			for _, id := range some {
				if err := b.Delete(key(id)); err != nil {
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

func boltCompact(db *bbolt.DB, path string) error {
	second, err := openBolt(path, false, false) // it is synced before it is renamed
	if err != nil {
		return err
	}
	return errors.Join(bbolt.Compact(second, db, boltCopy), second.Close())
}

func (boltPeer) each(dir string, visit func(id uint64, rec []byte) error) (err error) {
	db, err := openBolt(filepath.Join(dir, boltFile), true, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(boltBucket).ForEach(func(k, rec []byte) error {
			return visit(binary.BigEndian.Uint64(k), rec)
		})
	})
}
