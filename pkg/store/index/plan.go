package index

import (
	"cmp"
	"slices"

	"github.com/lace-store/lace/pkg/store"
)

// Candidates is a forward walk over record ids in a range (lo, hi] that was
// fixed when it was made. It may name records that do not match.
type Candidates interface {
	// Count returns how many ids the range holds, or an estimate.
	Count() uint64
	// SeekGE returns the first id of the range that is at least id, and zero
	// when there is none. The ids asked for never decrease.
	SeekGE(id store.RecordID) (store.RecordID, error)
}

// Lists offers posting lists to the planner.
type Lists interface {
	// Prepare returns candidates for any of the keys, none at all included.
	// Each is complete over (lo, hi]: whatever it leaves out does not satisfy
	// its key. Trouble with lists is no error; it means fewer candidates.
	Prepare(keys []Key, lo, hi store.Position) []Candidates
}

// plan chooses the candidate source of a query over (lo, hi] by a single
// ladder: the exact hash; the lists of its keys; a scan.
func (r *Reader) plan(q store.Query, lo, hi store.Position) (Candidates, error) {
	if !q.Hash.IsZero() {
		id, err := r.rows.Lookup(q.Hash)
		if err != nil {
			return nil, err
		}
		if p := store.Position(id); p <= lo || p > hi {
			id = 0
		}
		return single(id), nil
	}
	if keys := KeysOf(q); len(keys) > 0 && r.lists != nil {
		if lists := r.lists.Prepare(keys, lo, hi); len(lists) > 0 {
			return intersect(lists), nil
		}
	}
	return &scan{hi: hi, count: uint64(hi - lo)}, nil
}

// single is at most one id, the answer of the exact hash.
type single store.RecordID

func (s single) Count() uint64 {
	if s == 0 {
		return 0
	}
	return 1
}

func (s single) SeekGE(id store.RecordID) (store.RecordID, error) {
	if store.RecordID(s) < id {
		return 0, nil
	}
	return store.RecordID(s), nil
}

// scan is every id of the range.
type scan struct {
	hi    store.Position
	count uint64
}

func (s *scan) Count() uint64 { return s.count }

func (s *scan) SeekGE(id store.RecordID) (store.RecordID, error) {
	if store.Position(id) > s.hi {
		return 0, nil
	}
	return id, nil
}

// intersect walks what all lists have in common. The shortest one drives: the
// others are only ever sought, so the cost is bounded by the shortest, and
// the scratch by the number of lists.
func intersect(lists []Candidates) Candidates {
	if len(lists) == 1 {
		return lists[0]
	}
	slices.SortStableFunc(lists, func(a, b Candidates) int { return cmp.Compare(a.Count(), b.Count()) })
	return intersection(lists)
}

type intersection []Candidates

func (s intersection) Count() uint64 { return s[0].Count() }

func (s intersection) SeekGE(id store.RecordID) (store.RecordID, error) {
	for {
		found, err := s[0].SeekGE(id)
		if found == 0 || err != nil {
			return 0, err
		}
		id, err = s.agree(found)
		if id == found || id == 0 || err != nil {
			return id, err
		}
	}
}

// agree seeks the other lists to id. It returns id when all hold it, else the
// first greater id that the driver may go on from.
func (s intersection) agree(id store.RecordID) (store.RecordID, error) {
	for _, list := range s[1:] {
		found, err := list.SeekGE(id)
		if found != id || err != nil {
			return found, err
		}
	}
	return id, nil
}
