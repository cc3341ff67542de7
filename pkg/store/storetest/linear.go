package storetest

import (
	"fmt"
	"io"
	"strings"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/record"
)

// Linear is a store.Backend that answers everything by looking at every
// record, in the most obvious way. The zero Linear is empty.
type Linear struct {
	records []store.Record
	closed  bool
}

var _ store.Backend = (*Linear)(nil)

// Close implements store.Backend.
func (l *Linear) Close() error {
	l.closed = true
	return nil
}

// Execute implements store.Backend.
func (l *Linear) Execute(op store.Op) (store.Result, error) {
	if l.closed {
		return nil, refuse("store is closed")
	}
	switch op := op.(type) {
	case store.CurrentStorePosition:
		return store.PositionResult{Position: l.position()}, nil
	case store.ResolveStoreRecordIDs:
		return l.resolve(op)
	case store.FindRecords:
		return l.find(op)
	case store.LoadRecordsByHash:
		return l.loadByHash(op)
	case store.LoadRecordsByStoreID:
		return l.loadByID(op)
	case store.StoreRecords:
		return l.admit(op)
	}
	return nil, refuse("unknown operation %T", op)
}

func refuse(format string, args ...any) error {
	return &store.Error{Kind: store.Integration, Doing: "linear store", Found: fmt.Sprintf(format, args...)}
}

func (l *Linear) position() store.Position { return store.Position(len(l.records)) }

// at returns the record of a hash, the zero Record when there is none.
func (l *Linear) at(h record.Hash) store.Record {
	for _, r := range l.records {
		if r.Hash == h {
			return r
		}
	}
	return store.Record{}
}

func (l *Linear) resolve(op store.ResolveStoreRecordIDs) (store.Result, error) {
	through := op.ReadThrough
	if through == store.Latest {
		through = l.position()
	}
	if through > l.position() {
		return nil, refuse("read-through %d", through)
	}
	ids := make([]store.RecordID, len(op.Hashes))
	for i, h := range op.Hashes {
		if h.IsZero() {
			return nil, refuse("zero hash")
		}
		if id := l.at(h).ID; store.Position(id) <= through {
			ids[i] = id
		}
	}
	return store.ResolvedResult{IDs: ids}, nil
}

func (l *Linear) loadByHash(op store.LoadRecordsByHash) (store.Result, error) {
	recs := make([]store.Record, len(op.Hashes))
	for i, h := range op.Hashes {
		if h.IsZero() {
			return nil, refuse("zero hash")
		}
		recs[i] = l.at(h)
	}
	return store.LoadedResult{Records: recs}, nil
}

func (l *Linear) loadByID(op store.LoadRecordsByStoreID) (store.Result, error) {
	recs := make([]store.Record, len(op.Refs))
	for i, ref := range op.Refs {
		if ref.ID == 0 {
			return nil, refuse("id zero")
		}
		for _, r := range l.records {
			if r.ID != ref.ID {
				continue
			}
			if !ref.Expected.IsZero() && r.Hash != ref.Expected {
				return nil, refuse("record #%d is %s", r.ID, r.Hash)
			}
			recs[i] = r
		}
	}
	return store.LoadedResult{Records: recs}, nil
}

func (l *Linear) admit(op store.StoreRecords) (store.Result, error) {
	outcomes := make([]store.StoreOutcome, len(op.Records))
	before := l.records
	for i, in := range op.Records {
		if known := l.at(in.Hash); known.ID != 0 {
			outcomes[i] = store.StoreOutcome{ID: known.ID, Duplicate: true}
			continue
		}
		b, err := io.ReadAll(io.NewSectionReader(in.Body, 0, int64(in.Len)))
		if err != nil || len(b) == 0 || uint64(len(b)) != in.Len {
			l.records = before
			return nil, refuse("body of %d bytes, want %d: %v", len(b), in.Len, err)
		}
		id := store.RecordID(len(l.records) + 1)
		l.records = append(l.records, store.Record{ID: id, Hash: in.Hash, Bytes: b})
		outcomes[i] = store.StoreOutcome{ID: id}
	}
	return store.StoredResult{Outcomes: outcomes, Position: l.position()}, nil
}

func (l *Linear) find(op store.FindRecords) (store.Result, error) {
	for _, c := range op.Query.Constraints {
		if malformed(c) {
			return nil, refuse("constraint %+v", c)
		}
	}
	upper := op.UpperInclusive
	if upper == store.Latest {
		upper = l.position()
	}
	if upper > l.position() {
		return nil, refuse("read-through %d", upper)
	}
	res := store.FoundResult{Complete: true}
	if op.MaxRows == 0 {
		return res, nil
	}
	for _, r := range l.records {
		pos := store.Position(r.ID)
		if pos <= op.LowerExclusive || pos > upper || r.ID <= op.ResumeAfter {
			continue
		}
		ok, err := satisfies(r, op.Query)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if uint64(len(res.Records)) == uint64(op.MaxRows) {
			res.Complete = false
			return res, nil
		}
		res.Records = append(res.Records, r)
		res.ResumeAfter = r.ID
	}
	return res, nil
}

func malformed(c store.Constraint) bool {
	switch c.Shape {
	case store.FieldExact, store.FieldPrefix, store.LinkNameData:
		return false
	case store.FieldPresence, store.LinkName:
		return c.Value != ""
	case store.LinkTarget:
		return c.Name != ""
	}
	return true
}

// facts are the owned facts of one record.
type facts struct {
	fields []Header
	links  []link
}

type link struct{ name, data, target string }

func (f *facts) Field(name []byte, _ int, value []byte) bool {
	f.fields = append(f.fields, Header{string(name), string(value)})
	return true
}

func (f *facts) Link(name []byte, _ int, data, target []byte) bool {
	f.links = append(f.links, link{string(name), string(data), string(target)})
	return true
}

func (f *facts) Contains([]byte) bool { return true }

func satisfies(r store.Record, q store.Query) (bool, error) {
	if !q.Hash.IsZero() && q.Hash != r.Hash {
		return false, nil
	}
	var f facts
	if len(q.Constraints) > 0 {
		if err := fact.Visit(r.Bytes, &f); err != nil {
			return false, &store.Error{Kind: store.CorruptStore, Doing: "linear store", ID: r.ID, Err: err}
		}
	}
	for _, c := range q.Constraints {
		if !f.satisfy(c) {
			return false, nil
		}
	}
	return true, nil
}

func (f *facts) satisfy(c store.Constraint) bool {
	for _, h := range f.fields {
		named := h.Name == c.Name
		if c.Shape == store.FieldPresence && named ||
			c.Shape == store.FieldExact && named && h.Value == c.Value ||
			c.Shape == store.FieldPrefix && named && strings.HasPrefix(h.Value, c.Value) {
			return true
		}
	}
	for _, k := range f.links {
		named := k.name == c.Name
		if c.Shape == store.LinkName && named ||
			c.Shape == store.LinkNameData && named && k.data == c.Value ||
			c.Shape == store.LinkTarget && k.target == c.Value {
			return true
		}
	}
	return false
}
