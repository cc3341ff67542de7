package index

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Rows is what the executor needs of a store: committed rows at one coherent
// view. No other goroutine may change them during an operation.
type Rows interface {
	// Position returns the observed high-water.
	Position() store.Position
	// Lookup returns the id of an admitted record, zero when there is none.
	Lookup(h record.Hash) (store.RecordID, error)
	// Load returns the record of an id in (0, Position()]. A Record with ID
	// zero says that the id has no committed row.
	Load(id store.RecordID) (store.Record, error)
}

// maxRowsHint bounds what a result allocates before it has found anything, in
// rows.
const maxRowsHint = 256

// Reader executes the read operations of the store boundary over rows and
// lists. It is not safe for concurrent use.
type Reader struct {
	rows    Rows
	lists   Lists
	visited uint64
}

// NewReader returns a Reader; lists may be nil, which leaves the exact hash
// and scans.
func NewReader(rows Rows, lists Lists) *Reader { return &Reader{rows: rows, lists: lists} }

// CandidatesVisited counts the residual candidates visited by FindRecords so
// far, the lookahead for completeness and candidates whose load failed
// included; ids skipped inside intersections are not.
func (r *Reader) CandidatesVisited() uint64 { return r.visited }

// Execute serves the five operations that admit nothing. StoreRecords is an
// Integration error here, as is a malformed request or a finite boundary
// above the position; a candidate without a row is CorruptStore.
func (r *Reader) Execute(op store.Op) (store.Result, error) {
	switch op := op.(type) {
	case store.CurrentStorePosition:
		return store.PositionResult{Position: r.rows.Position()}, nil
	case store.ResolveStoreRecordIDs:
		return result(r.Resolve(op))
	case store.FindRecords:
		return result(r.Find(op))
	case store.LoadRecordsByHash:
		return result(r.LoadByHash(op))
	case store.LoadRecordsByStoreID:
		return result(r.LoadByID(op))
	}
	return nil, malformed("execute", fmt.Sprintf("operation %T is no read", op))
}

// result keeps a failed operation from answering with a typed zero value.
func result[R store.Result](res R, err error) (store.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Find answers FindRecords.
func (r *Reader) Find(op store.FindRecords) (store.FoundResult, error) {
	if err := validateQuery(op.Query); err != nil {
		return store.FoundResult{}, err
	}
	hi, err := r.boundary("find records", op.UpperInclusive)
	if err != nil {
		return store.FoundResult{}, err
	}
	lo := max(op.LowerExclusive, store.Position(op.ResumeAfter))
	// No rows are asked for, or none can be: no list is touched.
	if op.MaxRows == 0 || lo >= hi {
		return store.FoundResult{Complete: true}, nil
	}
	candidates, err := r.plan(op.Query, lo, hi)
	if err != nil {
		return store.FoundResult{}, err
	}
	return r.collect(op, candidates, lo)
}

// boundary resolves an upper bound against the high-water.
func (r *Reader) boundary(doing string, upper store.Position) (store.Position, error) {
	pos := r.rows.Position()
	if upper == store.Latest {
		return pos, nil
	}
	if upper > pos {
		return 0, &store.Error{
			Kind: store.Integration, Doing: doing,
			Found: fmt.Sprintf("read-through %d", upper), Want: fmt.Sprintf("at most the position %d", pos),
		}
	}
	return upper, nil
}

// collect walks the candidates above lo and keeps those that match, up to
// MaxRows. Meeting one more match proves the result incomplete; running out
// without it proves it complete.
func (r *Reader) collect(op store.FindRecords, candidates Candidates, lo store.Position) (store.FoundResult, error) {
	m := newMatcher(op.Query)
	found := make([]store.Record, 0, min(uint64(op.MaxRows), candidates.Count(), maxRowsHint))
	next := store.RecordID(lo) + 1
	for {
		id, err := candidates.SeekGE(next)
		if err != nil {
			return store.FoundResult{}, err
		}
		if id == 0 {
			return store.FoundResult{Records: found, Complete: true, ResumeAfter: lastID(found)}, nil
		}
		next = id + 1
		r.visited++
		rec, err := r.load("find records", id)
		if err != nil {
			return store.FoundResult{}, err
		}
		ok, err := m.match(rec)
		if err != nil {
			return store.FoundResult{}, err
		}
		if !ok {
			continue
		}
		if uint64(len(found)) == uint64(op.MaxRows) {
			return store.FoundResult{Records: found, ResumeAfter: lastID(found)}, nil
		}
		found = append(found, rec)
	}
}

func lastID(recs []store.Record) store.RecordID {
	if len(recs) == 0 {
		return 0
	}
	return recs[len(recs)-1].ID
}

// load returns the record of an id within the high-water. Rows are committed
// truth: one that is missing is a failure, never an absent record.
func (r *Reader) load(doing string, id store.RecordID) (store.Record, error) {
	rec, err := r.rows.Load(id)
	if err != nil {
		return store.Record{}, err
	}
	if rec.ID != id {
		return store.Record{}, &store.Error{
			Kind: store.CorruptStore, Doing: doing, ID: id,
			Found: "no committed row", Want: fmt.Sprintf("a row for every id through %d", r.rows.Position()),
		}
	}
	return rec, nil
}
