//go:build cgo

package lmdb

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// inserter writes what the databases have about records whose bytes lie in the
// arena already. Admission and reload share it.
type inserter struct {
	env   *env
	arena io.ReaderAt
	buf   []byte
	keys  keySet
}

// insert adds the row of the next id, its hash, and the postings that the facts
// of its bytes give. A record whose bytes are none is an error that wraps a
// record.FormatError, and then nothing was added.
func (w *inserter) insert(txn *mdb.Txn, id store.RecordID, row rowlog.Row) error {
	rec, err := w.read(row)
	if err != nil {
		return err
	}
	if err := w.project(rec); err != nil {
		return fmt.Errorf("record #%d %s: %w", id, row.Hash, err)
	}
	return w.put(txn, id, row)
}

// insertBare adds the row and the hash of a record that has no facts, because
// its bytes are damaged.
func (w *inserter) insertBare(txn *mdb.Txn, id store.RecordID, row rowlog.Row) error {
	w.keys.reset()
	return w.put(txn, id, row)
}

func (w *inserter) put(txn *mdb.Txn, id store.RecordID, row rowlog.Row) error {
	encoded := encodeID(id)
	// Ids only grow, so that every row goes behind all others.
	if err := txn.Put(w.env.rows, encoded, row.AppendTo(nil), mdb.Append); err != nil {
		return err
	}
	if err := txn.Put(w.env.hashes, row.Hash[:], encoded, mdb.NoOverwrite); err != nil {
		if isErrno(err, mdb.KeyExist) {
			return w.env.corrupt("hash "+row.Hash.String(), "two rows", "one")
		}
		return err
	}
	for _, key := range w.keys.sorted() {
		if err := txn.Put(w.env.postings, key, encoded, 0); err != nil {
			return err
		}
	}
	return nil
}

// read reads a record, which is valid until the next call.
func (w *inserter) read(row rowlog.Row) ([]byte, error) {
	path := filepath.Join(w.env.dir, root.Records)
	if row.Len > record.MaxRecordLen {
		return nil, w.env.corrupt("row of "+row.Hash.String(), fmt.Sprintf("%d bytes", row.Len), fmt.Sprintf("at most %d", record.MaxRecordLen))
	}
	w.buf = slices.Grow(w.buf[:0], int(row.Len))[:row.Len]
	if n, err := w.arena.ReadAt(w.buf, int64(row.Offset)); n < len(w.buf) {
		return nil, root.IOError("read", w.env.dir, path, err)
	}
	return w.buf, nil
}

// project gathers the posting keys of a record.
func (w *inserter) project(rec []byte) error {
	w.keys.reset()
	return fact.Visit(rec, &w.keys)
}

// keySet is the posting keys of one record, encoded one behind the other.
type keySet struct {
	buf  []byte
	ends []int
	keys [][]byte
}

func (k *keySet) reset() { k.buf, k.ends = k.buf[:0], k.ends[:0] }

func (k *keySet) add(key index.Key) {
	buf, ok := AppendKey(k.buf, key)
	if ok {
		k.buf, k.ends = buf, append(k.ends, len(buf))
	}
}

// sorted returns the keys without repeats, in the order of the database.
func (k *keySet) sorted() [][]byte {
	k.keys = k.keys[:0]
	begin := 0
	for _, end := range k.ends {
		k.keys = append(k.keys, k.buf[begin:end])
		begin = end
	}
	slices.SortFunc(k.keys, bytes.Compare)
	return slices.CompactFunc(k.keys, bytes.Equal)
}

// Field implements fact.Visitor.
func (k *keySet) Field(name []byte, _ int, value []byte) bool {
	n := string(name)
	k.add(index.Key{Shape: store.FieldPresence, Name: n})
	k.add(index.Key{Shape: store.FieldExact, Name: n, Value: string(value)})
	return true
}

// Link implements fact.Visitor. A link is a field occurrence of its name, and
// has been counted as one.
func (k *keySet) Link(name []byte, _ int, data, target []byte) bool {
	k.add(index.Key{Shape: store.LinkTarget, Value: string(target)})
	k.add(index.Key{Shape: store.LinkNameData, Name: string(name), Value: string(data)})
	return true
}

// Contains implements fact.Visitor. No posting is about containment, and
// nothing else follows it.
func (k *keySet) Contains([]byte) bool { return false }
