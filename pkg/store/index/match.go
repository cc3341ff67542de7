package index

import (
	"runtime"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
)

// Match reports whether a record satisfies every constraint of a query. Bytes
// that cannot be read as a record are CorruptStore.
func Match(rec store.Record, q store.Query) (bool, error) {
	return newMatcher(q).match(rec)
}

// matcher is the complete record matcher of one query, reused over records.
type matcher struct {
	query store.Query
	holds []bool
	left  int
}

func newMatcher(q store.Query) *matcher {
	return &matcher{query: q, holds: make([]bool, len(q.Constraints))}
}

func (m *matcher) match(rec store.Record) (bool, error) {
	if !m.query.Hash.IsZero() && rec.Hash != m.query.Hash {
		return false, nil
	}
	m.left = len(m.holds)
	if m.left == 0 {
		return true, nil
	}
	clear(m.holds)
	if err := visit(rec, m); err != nil {
		return false, err
	}
	return m.left == 0, nil
}

// visit projects the facts of a record and holds its bytes valid meanwhile.
func visit(rec store.Record, v fact.Visitor) error {
	err := fact.Visit(rec.Bytes, v)
	runtime.KeepAlive(rec.Owner)
	if err != nil {
		return &store.Error{Kind: store.CorruptStore, Doing: "read record", ID: rec.ID, Hash: rec.Hash, Err: err}
	}
	return nil
}

// Field implements fact.Visitor.
func (m *matcher) Field(name []byte, _ int, value []byte) bool {
	for i := range m.holds {
		if c := &m.query.Constraints[i]; !m.holds[i] && fieldHolds(c, name, value) {
			m.holds[i] = true
			m.left--
		}
	}
	return m.left > 0
}

// Link implements fact.Visitor.
func (m *matcher) Link(name []byte, _ int, data, target []byte) bool {
	for i := range m.holds {
		if c := &m.query.Constraints[i]; !m.holds[i] && linkHolds(c, name, data, target) {
			m.holds[i] = true
			m.left--
		}
	}
	return m.left > 0
}

// Contains implements fact.Visitor. No constraint is about containment, and
// nothing else follows it.
func (m *matcher) Contains([]byte) bool { return false }

func fieldHolds(c *store.Constraint, name, value []byte) bool {
	switch c.Shape {
	case store.FieldPresence:
		return c.Name == string(name)
	case store.FieldExact:
		return c.Name == string(name) && c.Value == string(value)
	case store.FieldPrefix:
		return c.Name == string(name) && len(value) >= len(c.Value) && c.Value == string(value[:len(c.Value)])
	}
	return false
}

func linkHolds(c *store.Constraint, name, data, target []byte) bool {
	switch c.Shape {
	case store.LinkTarget:
		return c.Value == string(target)
	case store.LinkNameData:
		return c.Name == string(name) && c.Value == string(data)
	case store.LinkName:
		return c.Name == string(name)
	}
	return false
}
