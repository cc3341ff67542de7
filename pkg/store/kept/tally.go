package kept

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Total is a number of records, the bytes of these records, and of their data.
type Total struct {
	Records   uint64
	Bytes     uint64
	DataBytes uint64
}

func (t *Total) add(recordBytes, dataBytes uint64) {
	t.Records++
	t.Bytes += recordBytes
	t.DataBytes += dataBytes
}

// tallyPage is how many records are loaded at a time.
const tallyPage = 256

// Tally adds up what a set retains and what it leaves out of the records of a
// store. step, unless nil, is called before each page of records; its error
// ends the tally.
func Tally(b store.Backend, s *Set, step func(done store.Position) error) (retained, removed Total, err error) {
	refs := make([]store.Ref, 0, tallyPage)
	for next := store.RecordID(1); store.Position(next) <= s.boundary; {
		if step != nil {
			if err := step(store.Position(next - 1)); err != nil {
				return retained, removed, err
			}
		}
		refs = refs[:0]
		for ; len(refs) < tallyPage && store.Position(next) <= s.boundary; next++ {
			refs = append(refs, store.Ref{ID: next})
		}
		result, err := b.Execute(store.LoadRecordsByStoreID{Refs: refs})
		if err != nil {
			return retained, removed, err
		}
		loaded, ok := result.(store.LoadedResult)
		if !ok || len(loaded.Records) != len(refs) {
			return retained, removed, &store.Error{Kind: store.Integration, Doing: "tally", Found: fmt.Sprintf("a %T of another length", result)}
		}
		for _, rec := range loaded.Records {
			view, err := record.Parse(rec.Bytes)
			if err != nil {
				return retained, removed, &store.Error{Kind: store.CorruptStore, Doing: "tally", ID: rec.ID, Hash: rec.Hash, Err: err}
			}
			into := &removed
			if s.Has(rec.ID) {
				into = &retained
			}
			into.add(uint64(len(rec.Bytes)), uint64(view.DataLen()))
		}
	}
	return retained, removed, nil
}
