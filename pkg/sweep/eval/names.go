package eval

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// associations remembers, for every id that was seen, 32 bits of a hash of its
// record's hash, so that a store that later answers with another record is
// caught. It takes 4 bytes an id, in pages that are made as they are needed.
// It is safe for concurrent use: an evaluator and its forks have one.
type associations struct {
	seed  maphash.Seed
	pages []atomic.Pointer[associationPage]
}

const associationsPerPage = 1 << 12

// associationPage has zero for an id that was not seen.
type associationPage [associationsPerPage]atomic.Uint32

// newAssociations is for the ids through the boundary.
func newAssociations(boundary store.Position) *associations {
	return &associations{seed: maphash.MakeSeed(), pages: make([]atomic.Pointer[associationPage], uint64(boundary)/associationsPerPage+1)}
}

// learn notes that id is the record h, and fails when it was another before.
func (a *associations) learn(id store.RecordID, h record.Hash) error {
	at := &a.pages[uint64(id)/associationsPerPage]
	page := at.Load()
	if page == nil {
		at.CompareAndSwap(nil, new(associationPage))
		page = at.Load()
	}
	sum := uint32(maphash.Bytes(a.seed, h[:])>>32) | 1
	seen := &page[uint64(id)%associationsPerPage]
	if have := seen.Load(); have == sum || have == 0 && (seen.CompareAndSwap(0, sum) || seen.Load() == sum) {
		return nil
	}
	return &store.Error{Kind: store.Integration, Doing: "read record", ID: id, Hash: h, Found: "another record than before under this id"}
}

// names holds the hash texts of records whose text was needed. It is a cache:
// loading drops it when it has grown large, but texts that were handed out
// stay valid.
type names struct {
	texts map[store.RecordID]*record.Hash
}

// namesKept bounds the cache, in records.
const namesKept = 1 << 14

// nameRecords makes the texts of values available to text, until the next
// call. It reads the records whose text is not known.
func (s *session) nameRecords(values []value) error {
	if len(s.names.texts) > namesKept {
		clear(s.names.texts)
	}
	var ids []store.RecordID
	for _, v := range values {
		if v.isRecord() && s.names.texts[v.id()] == nil {
			ids = append(ids, v.id())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if s.names.texts == nil {
		s.names.texts = map[store.RecordID]*record.Hash{}
	}
	slices.Sort(ids)
	return s.load(slices.Compact(ids), func(rec store.Record) error {
		if err := checkGlyph(rec); err != nil {
			return err
		}
		h := rec.Hash
		s.names.texts[rec.ID] = &h
		return nil
	})
}

// text returns the bytes of a value. Those of a record must have been named.
func (s *session) text(v value) []byte {
	if !v.isRecord() {
		return s.texts.text(v)
	}
	h := s.names.texts[v.id()]
	if h == nil {
		panic(fmt.Sprintf("eval: the text of record #%d was not asked for", v.id()))
	}
	return h[:]
}

// slotTexts appends the text of one slot of every binding of a block.
func (s *session) slotTexts(dst [][]byte, in *block, slot int) ([][]byte, error) {
	var values []value
	for i := range in.n {
		if v := in.row(i)[slot]; v.isRecord() {
			values = append(values, v)
		}
	}
	if err := s.nameRecords(values); err != nil {
		return nil, err
	}
	for i := range in.n {
		dst = append(dst, s.text(in.row(i)[slot]))
	}
	return dst, nil
}
