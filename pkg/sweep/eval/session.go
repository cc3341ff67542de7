package eval

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// glyphHash is where the typed hash stands in a glyph line, which ends with it.
const glyphHash = record.GlyphLen - 1 - record.HashLen

// Store answers operations over one root; any store.Backend does, and so does
// a machine that hands them out.
type Store interface {
	Execute(op store.Op) (store.Result, error)
}

// session asks a store at one boundary and checks what it answers: a malformed
// answer is an Integration error, never an empty one.
type session struct {
	store    Store
	boundary store.Position
	page     int
	batch    int
	meter    meter
	texts    texts
	names    names
	known    *associations

	// Buffers of one call.
	unique   map[record.Hash]int
	hashes   []record.Hash
	values   []value
	resolved []store.RecordID
}

// find visits the records in (lo, hi] that match a query, in pages, until the
// visitor returns false. A record is valid only during the call.
func (s *session) find(q store.Query, lo, hi store.Position, visit func(store.Record) (bool, error)) error {
	if lo >= hi {
		return nil
	}
	op := store.FindRecords{Query: q, LowerExclusive: lo, UpperInclusive: hi, MaxRows: store.Limit(s.page)}
	for {
		res, err := execute[store.FoundResult](s, op)
		if err != nil {
			return err
		}
		if err := s.checkPage(op, res); err != nil {
			return err
		}
		for _, rec := range res.Records {
			if more, err := s.read(rec, visit); err != nil || !more {
				return err
			}
		}
		if res.Complete {
			return nil
		}
		op.ResumeAfter = res.ResumeAfter
	}
}

func (s *session) checkPage(op store.FindRecords, res store.FoundResult) error {
	last := max(op.ResumeAfter, store.RecordID(op.LowerExclusive))
	for _, rec := range res.Records {
		if rec.ID <= last || store.Position(rec.ID) > op.UpperInclusive {
			return malformed(op, fmt.Sprintf("record #%d after #%d, through #%d", rec.ID, last, op.UpperInclusive))
		}
		last = rec.ID
	}
	if n := len(res.Records); n > int(op.MaxRows) || n == 0 && !res.Complete {
		return malformed(op, fmt.Sprintf("%d rows of at most %d, complete %t", n, op.MaxRows, res.Complete))
	}
	if !res.Complete && res.ResumeAfter != last {
		return malformed(op, fmt.Sprintf("continuation after #%d, last row #%d", res.ResumeAfter, last))
	}
	return nil
}

// read counts one record, checks it against what is known of it and hands it
// to a visitor.
func (s *session) read(rec store.Record, visit func(store.Record) (bool, error)) (bool, error) {
	s.meter.reads++
	if err := s.meter.spend(1); err != nil {
		return false, err
	}
	if err := s.known.learn(rec.ID, rec.Hash); err != nil {
		return false, err
	}
	return visit(rec)
}

// checkGlyph checks that bytes which are about to be used are those of the
// record that the store says they are.
func checkGlyph(rec store.Record) error {
	if len(rec.Bytes) >= record.GlyphLen && string(rec.Bytes[glyphHash:glyphHash+record.HashLen]) == string(rec.Hash[:]) {
		return nil
	}
	return &store.Error{
		Kind: store.Integration, Doing: "read record", ID: rec.ID, Hash: rec.Hash,
		Found: fmt.Sprintf("bytes that begin %.60q", rec.Bytes[:min(len(rec.Bytes), record.GlyphLen)]),
	}
}

// load visits records that are held, by id, in batches of one block.
func (s *session) load(ids []store.RecordID, visit func(store.Record) error) error {
	for len(ids) > 0 {
		n := min(len(ids), s.batch)
		op := store.LoadRecordsByStoreID{Refs: make([]store.Ref, n)}
		for i, id := range ids[:n] {
			op.Refs[i].ID = id
		}
		res, err := execute[store.LoadedResult](s, op)
		if err != nil {
			return err
		}
		if len(res.Records) != n {
			return malformed(op, fmt.Sprintf("%d records for %d ids", len(res.Records), n))
		}
		for i, rec := range res.Records {
			if rec.ID != ids[i] {
				return malformed(op, fmt.Sprintf("record #%d for #%d", rec.ID, ids[i]))
			}
			_, err := s.read(rec, func(rec store.Record) (bool, error) { return true, visit(rec) })
			if err != nil {
				return err
			}
		}
		ids = ids[n:]
	}
	return nil
}

// resolve returns the ids of unique hashes at the boundary, zero for what is
// not held, in batches of one block. The answer is valid until the next call.
func (s *session) resolve(hashes []record.Hash) ([]store.RecordID, error) {
	s.resolved = s.resolved[:0]
	for len(hashes) > 0 {
		n := min(len(hashes), s.batch)
		op := store.ResolveStoreRecordIDs{Hashes: hashes[:n:n], ReadThrough: s.boundary}
		res, err := execute[store.ResolvedResult](s, op)
		if err != nil {
			return nil, err
		}
		if len(res.IDs) != n {
			return nil, malformed(op, fmt.Sprintf("%d ids for %d hashes", len(res.IDs), n))
		}
		for i, id := range res.IDs {
			if store.Position(id) > s.boundary {
				return nil, malformed(op, fmt.Sprintf("id #%d beyond the boundary %d", id, s.boundary))
			}
			if id != 0 {
				if err := s.known.learn(id, hashes[i]); err != nil {
					return nil, err
				}
			}
		}
		s.resolved = append(s.resolved, res.IDs...)
		hashes = hashes[n:]
	}
	return s.resolved, nil
}

// execute asks for one operation and insists on its own type of result.
func execute[R store.Result](s *session, op store.Op) (R, error) {
	res, err := s.store.Execute(op)
	if err != nil {
		var none R
		return none, err
	}
	r, ok := res.(R)
	if !ok {
		return r, malformed(op, fmt.Sprintf("a result of type %T", res))
	}
	return r, nil
}

func malformed(op store.Op, found string) error {
	return &store.Error{Kind: store.Integration, Doing: fmt.Sprintf("answer %T", op), Found: found}
}
