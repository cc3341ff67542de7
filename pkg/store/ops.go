package store

import (
	"io"

	"github.com/lace-store/lace/pkg/store/record"
)

// Op is one request to a store: one of the six operation types below.
type Op interface{ isOp() }

// Result is the answer to an Op: one of the five result types below.
type Result interface{ isResult() }

// Backend serves operations over one root that it owns exclusively. It is not
// safe for concurrent use. Execute returns either a result of the operation's
// own type or an error, never both.
type Backend interface {
	Execute(op Op) (Result, error)
	Close() error
}

// CurrentStorePosition asks for the high-water. The answer is PositionResult.
type CurrentStorePosition struct{}

// ResolveStoreRecordIDs asks which of the unique Hashes are admitted at the
// boundary ReadThrough. The answer is ResolvedResult.
type ResolveStoreRecordIDs struct {
	Hashes      []record.Hash
	ReadThrough Position
}

// FindRecords searches for the records in (LowerExclusive, UpperInclusive]
// that match Query, in increasing id order. With ResumeAfter only greater ids
// are returned. The answer is FoundResult.
type FindRecords struct {
	Query          Query
	LowerExclusive Position
	UpperInclusive Position
	ResumeAfter    RecordID
	MaxRows        Limit
}

// LoadRecordsByHash loads exact records. The answer is LoadedResult.
type LoadRecordsByHash struct{ Hashes []record.Hash }

// LoadRecordsByStoreID loads exact records. An id above the high-water is
// Missing; an id without a row below it is CorruptStore; id zero and a record
// whose hash is not the expected one are Integration errors. The answer is
// LoadedResult.
type LoadRecordsByStoreID struct{ Refs []Ref }

// Ref names a record by its id and, unless Expected is zero, by the hash the
// caller associates with that id.
type Ref struct {
	ID       RecordID
	Expected record.Hash
}

// StoreRecords admits validated records in order. The answer is StoredResult.
type StoreRecords struct{ Records []NewRecord }

// NewRecord is a validated record to admit: Len bytes of Body from offset 0.
// The store copies it in bounded pieces.
type NewRecord struct {
	Hash record.Hash
	Len  uint64
	Body io.ReaderAt
}

func (CurrentStorePosition) isOp()  {}
func (ResolveStoreRecordIDs) isOp() {}
func (FindRecords) isOp()           {}
func (LoadRecordsByHash) isOp()     {}
func (LoadRecordsByStoreID) isOp()  {}
func (StoreRecords) isOp()          {}

// Record is one admitted record. Bytes may lie in a read-only mapping: they
// must not be changed, and they are valid only while Owner is reachable, so
// hold the Record, not its Bytes.
type Record struct {
	ID    RecordID
	Hash  record.Hash
	Bytes []byte
	Owner any
}

// PositionResult is the observed high-water.
type PositionResult struct{ Position Position }

// ResolvedResult has one id per requested hash; zero is Missing.
type ResolvedResult struct{ IDs []RecordID }

// FoundResult has the matching records in increasing id order. Complete means
// that no match remains in the range beyond the last one; otherwise the search
// goes on with ResumeAfter as given here. An incomplete result is never empty.
type FoundResult struct {
	Records     []Record
	Complete    bool
	ResumeAfter RecordID
}

// LoadedResult has one record per request; one with ID zero is Missing.
type LoadedResult struct{ Records []Record }

// StoredResult has one outcome per input record, and the position afterwards.
type StoredResult struct {
	Outcomes []StoreOutcome
	Position Position
}

// StoreOutcome says under which id a record is admitted, and whether it was
// so before (or earlier in the same batch).
type StoreOutcome struct {
	ID        RecordID
	Duplicate bool
}

func (PositionResult) isResult() {}
func (ResolvedResult) isResult() {}
func (FoundResult) isResult()    {}
func (LoadedResult) isResult()   {}
func (StoredResult) isResult()   {}
