package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"

	"github.com/cockroachdb/pebble/v2"

	"github.com/lace-store/lace/pkg/store/kept"
)

// pebblePeer is Pebble. It gives bytes back by a compaction of all keys.
type pebblePeer struct{}

const (
	pebbleBatch  = 10_000   // records of a batch
	pebbleMemory = 64 << 20 // of a memtable, in bytes
	pebbleFile   = 64 << 20 // of a table, in bytes
)

// openPebble opens a database without a write-ahead log: a flush makes what was
// written durable. Records of the data sets are random bytes, so none is
// compressed.
func openPebble(dir string, readOnly bool) (*pebble.DB, error) {
	cache := pebble.NewCache(64 << 20)
	defer cache.Unref()
	o := &pebble.Options{Cache: cache, DisableWAL: true, ReadOnly: readOnly, Logger: silent{}, FormatMajorVersion: pebble.FormatNewest,
		MemTableSize: pebbleMemory, MemTableStopWritesThreshold: 4,
		CompactionConcurrencyRange: func() (int, int) { return 1, runtime.NumCPU() }}
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = pebbleFile
	}
	for i := range o.Levels {
		o.Levels[i].BlockSize = 32 << 10
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return pebble.Open(dir, o)
}

// silent drops what Pebble says of its work; its errors are returned besides.
type silent struct{ pebble.Logger }

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	pebble.DefaultLogger.Fatalf(format, args...)
}

func (pebblePeer) load(dir string, r *records) (err error) {
	db, err := openPebble(dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b := db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	err = r.batches(pebbleBatch, func(id uint64, rec []byte) error {
		return b.Set(key(id), rec, nil)
	}, func() error {
		if err := b.Commit(pebble.NoSync); err != nil {
			return err
		}
		b.Reset()
		return nil
	})
	if err != nil {
		return err
	}
	return pebbleSettle(db)
}

// pebbleSettle makes everything durable in tables of the lowest level.
func pebbleSettle(db *pebble.DB) error {
	if err := db.Flush(); err != nil {
		return err
	}
	return db.Compact(context.Background(), key(0), bytes.Repeat([]byte{0xff}, 9), true)
}

func (pebblePeer) compact(dir string, set *kept.Set) (err error) {
	db, err := openPebble(dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b := db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	for ids := removed(set); len(ids) > 0; {
		some := ids[:min(pebbleBatch, len(ids))]
		ids = ids[len(some):]
		for _, id := range some {
			if err := b.Delete(key(id), nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return err
		}
		b.Reset()
	}
	return pebbleSettle(db)
}

func (pebblePeer) each(dir string, visit func(id uint64, rec []byte) error) (err error) {
	db, err := openPebble(dir, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := visit(binary.BigEndian.Uint64(it.Key()), it.Value()); err != nil {
			return err
		}
	}
	return it.Error()
}
