package store

import "math"

// RecordID is the seeds' StoreRecordId: the one-based admission ordinal of a
// record in its root. Zero names no record; in positional results it means
// Missing.
type RecordID uint64

// Position is the seeds' StorePosition: the number of records admitted, which
// is also the greatest RecordID. As a bound it includes the record of that id
// above and excludes it below, so that a range is written (lower, upper].
type Position uint64

// Latest as a read-through or upper bound selects the observed high-water.
const Latest Position = math.MaxUint64

// Limit is a number of rows. Zero asks for none; Unbounded for all.
type Limit uint64

// Unbounded sets no limit to the rows of a search.
const Unbounded Limit = math.MaxUint64
