package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// batchLen is the size in bytes at which a batch of records is admitted. Each
// admission costs two syncs.
const batchLen = 8 << 20

// made counts what a root was filled with.
type made struct {
	records uint64
	bytes   int64 // of records
	data    int64 // of their data
}

// fill creates the root and admits every record of src, in batches.
func fill(ctx context.Context, o options, src gen.Source) (m made, err error) {
	s, err := native.Create(ctx, o.root, native.Options{FS: osfs.New(), Capacity: o.capacity, NoPublish: true})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := refuseFilled(s, o.root); err != nil {
		return m, err
	}
	// A record that ends behind batchLen still finds its place.
	b := batch{arena: make([]byte, 0, batchLen+record.MaxRecordLen)}
	for {
		v, err := src.Next(b.room())
		if err != nil && err != io.EOF {
			return m, fmt.Errorf("record %d: %w", m.records+1, err)
		}
		if err == nil {
			b.add(v)
			m.records++
			m.bytes += int64(len(v.Bytes()))
			m.data += v.DataLen()
		}
		if err == io.EOF || len(b.arena) >= batchLen {
			if err := ctx.Err(); err != nil {
				return m, fmt.Errorf("stopped: %s is incomplete, remove it: %w", o.root, err)
			}
			if err := b.admit(s); err != nil {
				return m, err
			}
		}
		if err == io.EOF {
			return m, nil
		}
	}
}

// refuseFilled keeps the records of a root that was there before.
func refuseFilled(s store.Backend, root string) error {
	res, err := s.Execute(store.CurrentStorePosition{})
	if err != nil {
		return err
	}
	if p := res.(store.PositionResult).Position; p > 0 {
		return fmt.Errorf("%s is a root with %d records already", root, p)
	}
	return nil
}

// batch collects records in one buffer that is used again and again.
type batch struct {
	arena   []byte
	records []store.NewRecord
}

// room returns the free end of the buffer as an empty slice.
func (b *batch) room() []byte { return b.arena[len(b.arena):] }

// add takes a record that was built in the room.
func (b *batch) add(v record.View) {
	at := len(b.arena)
	// Where the record was built elsewhere for lack of room, this copies it.
	b.arena = append(b.arena, v.Bytes()...)
	b.records = append(b.records, store.NewRecord{
		Hash: v.Hash(), Len: uint64(len(v.Bytes())), Body: bytes.NewReader(b.arena[at:]),
	})
}

// admit stores the batch and empties it. A repeated record is an error: the
// root would not hold what was asked for.
func (b *batch) admit(s store.Backend) error {
	res, err := s.Execute(store.StoreRecords{Records: b.records})
	if err != nil {
		return err
	}
	for i, out := range res.(store.StoredResult).Outcomes {
		if out.Duplicate {
			return fmt.Errorf("record %s is made twice", b.records[i].Hash)
		}
	}
	clear(b.records)
	b.arena, b.records = b.arena[:0], b.records[:0]
	return nil
}
