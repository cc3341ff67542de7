package storetest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// maxBatch is the number of hashes that the evaluation resolves at once.
const maxBatch = 1024

func requireKind(t *testing.T, b store.Backend, op store.Op, kind store.Kind) {
	t.Helper()
	res, err := b.Execute(op)
	if !errors.Is(err, kind) || res != nil {
		t.Fatalf("%T %+v answered %v and %v, want the kind %v alone", op, op, res, err, kind)
	}
}

func (s suite) testResolve(t *testing.T) {
	t.Run("unknown hashes are missing", func(t *testing.T) {
		recs := topics(5)
		f := s.with(t, recs...)
		f.agree(store.ResolveStoreRecordIDs{Hashes: []record.Hash{Absent(1), recs[4].Hash, Absent(2), recs[0].Hash}, ReadThrough: store.Latest})
	})
	t.Run("admitted at a boundary", func(t *testing.T) {
		recs := topics(5)
		f := s.with(t, recs...)
		for through := store.Position(0); through <= 5; through++ {
			f.agree(store.ResolveStoreRecordIDs{Hashes: []record.Hash{recs[2].Hash, recs[4].Hash, recs[0].Hash}, ReadThrough: through})
		}
	})
	t.Run("finite read-through above the position fails", func(t *testing.T) {
		recs := topics(3)
		f := s.with(t, recs...)
		for _, through := range []store.Position{4, store.Latest - 1} {
			f.agree(store.ResolveStoreRecordIDs{ReadThrough: through}) // an empty batch too
			f.agree(store.ResolveStoreRecordIDs{Hashes: []record.Hash{recs[0].Hash}, ReadThrough: through})
		}
	})
	t.Run("empty batch", func(t *testing.T) {
		f := s.with(t, topics(1)...)
		f.agree(store.ResolveStoreRecordIDs{ReadThrough: store.Latest})
		f.agree(store.ResolveStoreRecordIDs{ReadThrough: 1})
	})
	t.Run("maximal batch", func(t *testing.T) {
		recs := topics(maxBatch / 2)
		f := s.with(t, recs...)
		op := store.ResolveStoreRecordIDs{ReadThrough: maxBatch / 4}
		for i, r := range recs {
			op.Hashes = append(op.Hashes, r.Hash, Absent(i))
		}
		f.agree(op)
	})
	t.Run("zero hash is malformed", func(t *testing.T) {
		f := s.with(t, topics(1)...)
		f.agree(store.ResolveStoreRecordIDs{Hashes: []record.Hash{{}}, ReadThrough: store.Latest})
	})
}

func (s suite) testLoad(t *testing.T) {
	recs := topics(5)
	t.Run("by hash", func(t *testing.T) {
		f := s.with(t, recs...)
		f.agree(store.LoadRecordsByHash{})
		f.agree(store.LoadRecordsByHash{Hashes: []record.Hash{recs[3].Hash, Absent(1), recs[0].Hash, recs[4].Hash}})
		f.agree(store.LoadRecordsByHash{Hashes: []record.Hash{recs[3].Hash, {}}})
	})
	t.Run("contained records are not admitted", func(t *testing.T) {
		f := s.with(t, recs...)
		inner := Blob("data of record 1")
		if !bytes.Contains(recs[0].Bytes, inner.Bytes) {
			t.Fatal("the fixture does not contain the blob")
		}
		f.agree(store.LoadRecordsByHash{Hashes: []record.Hash{inner.Hash}})
		f.agree(store.ResolveStoreRecordIDs{Hashes: []record.Hash{inner.Hash}, ReadThrough: store.Latest})
	})
	t.Run("by id", func(t *testing.T) {
		f := s.with(t, recs...)
		f.agree(store.LoadRecordsByStoreID{})
		f.agree(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 5, Expected: recs[4].Hash}, {ID: 1}, {ID: 6}, {ID: 1 << 62, Expected: Absent(1)}}})
	})
	t.Run("by id zero", func(t *testing.T) {
		f := s.with(t, recs...)
		f.agree(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}, {}}})
	})
	t.Run("by id with a wrong expected hash", func(t *testing.T) {
		f := s.with(t, recs...)
		f.agree(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1, Expected: recs[1].Hash}}})
		f.agree(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1, Expected: Absent(1)}}})
	})
}

func (s suite) testAdmit(t *testing.T) {
	recs := topics(8)
	t.Run("nothing", func(t *testing.T) {
		f := s.with(t)
		f.agree(store.StoreRecords{})
		f.agree(store.CurrentStorePosition{})
	})
	t.Run("one by one", func(t *testing.T) {
		f := s.with(t)
		for _, r := range recs {
			f.agree(admission(r))
			f.agree(store.CurrentStorePosition{})
		}
	})
	t.Run("duplicates inside one batch", func(t *testing.T) {
		f := s.with(t)
		f.agree(admission(recs[0], recs[1], recs[0], recs[2], recs[1], recs[1]))
		f.agree(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	})
	t.Run("duplicates across batches", func(t *testing.T) {
		f := s.with(t)
		f.agree(admission(recs[:4]...))
		f.agree(admission(recs[2:6]...))
		f.agree(admission(recs[:6]...))
		f.agree(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	})
	t.Run("a body that cannot be read admits nothing", func(t *testing.T) {
		f := s.with(t, recs[:2]...)
		for _, bad := range []store.NewRecord{
			{Hash: recs[3].Hash, Len: uint64(len(recs[3].Bytes)) + 1, Body: bytes.NewReader(recs[3].Bytes)},
			{Hash: recs[3].Hash, Len: uint64(len(recs[3].Bytes)), Body: failing{}},
			{Hash: recs[3].Hash, Len: 0, Body: bytes.NewReader(nil)},
		} {
			if res, err := f.backend.Execute(store.StoreRecords{Records: []store.NewRecord{recs[2].New(), bad}}); err == nil {
				t.Fatalf("admitting a bad body answered %v", res)
			}
			f.agree(store.CurrentStorePosition{})
			f.agree(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
		}
		f.agree(admission(recs[2:4]...))
		f.agree(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	})
	t.Run("records outlive the store", func(t *testing.T) {
		f := s.with(t, recs...)
		res := f.find(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
		f.close()
		for i, r := range res.Records {
			if !bytes.Equal(r.Bytes, recs[i].Bytes) {
				t.Errorf("record #%d changed after close", r.ID)
			}
		}
	})
}

// failing is a body that cannot be read.
type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }
