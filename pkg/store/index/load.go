package index

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Resolve answers ResolveStoreRecordIDs. An empty batch is validated too.
func (r *Reader) Resolve(op store.ResolveStoreRecordIDs) (store.ResolvedResult, error) {
	through, err := r.boundary("resolve record ids", op.ReadThrough)
	if err != nil {
		return store.ResolvedResult{}, err
	}
	ids := make([]store.RecordID, len(op.Hashes))
	for i, h := range op.Hashes {
		id, err := r.lookup("resolve record ids", i, h)
		if err != nil {
			return store.ResolvedResult{}, err
		}
		if store.Position(id) <= through {
			ids[i] = id
		}
	}
	return store.ResolvedResult{IDs: ids}, nil
}

// LoadByHash answers LoadRecordsByHash.
func (r *Reader) LoadByHash(op store.LoadRecordsByHash) (store.LoadedResult, error) {
	recs := make([]store.Record, len(op.Hashes))
	for i, h := range op.Hashes {
		id, err := r.lookup("load by hash", i, h)
		if err != nil {
			return store.LoadedResult{}, err
		}
		if id == 0 || store.Position(id) > r.rows.Position() {
			continue
		}
		if recs[i], err = r.load("load by hash", id); err != nil {
			return store.LoadedResult{}, err
		}
		if recs[i].Hash != h {
			return store.LoadedResult{}, &store.Error{
				Kind: store.CorruptStore, Doing: "load by hash", ID: id, Hash: h,
				Found: "the row of " + recs[i].Hash.String(),
			}
		}
	}
	return store.LoadedResult{Records: recs}, nil
}

// LoadByID answers LoadRecordsByStoreID.
func (r *Reader) LoadByID(op store.LoadRecordsByStoreID) (store.LoadedResult, error) {
	recs := make([]store.Record, len(op.Refs))
	for i, ref := range op.Refs {
		if ref.ID == 0 {
			return store.LoadedResult{}, malformed("load by id", fmt.Sprintf("reference %d has the id 0", i))
		}
		if store.Position(ref.ID) > r.rows.Position() {
			continue
		}
		rec, err := r.load("load by id", ref.ID)
		if err != nil {
			return store.LoadedResult{}, err
		}
		if !ref.Expected.IsZero() && rec.Hash != ref.Expected {
			return store.LoadedResult{}, &store.Error{
				Kind: store.Integration, Doing: "load by id", ID: ref.ID,
				Found: rec.Hash.String(), Want: ref.Expected.String(),
			}
		}
		recs[i] = rec
	}
	return store.LoadedResult{Records: recs}, nil
}

// lookup rejects the zero hash, which names no record.
func (r *Reader) lookup(doing string, i int, h record.Hash) (store.RecordID, error) {
	if h.IsZero() {
		return 0, malformed(doing, fmt.Sprintf("hash %d of the batch is zero", i))
	}
	return r.rows.Lookup(h)
}
