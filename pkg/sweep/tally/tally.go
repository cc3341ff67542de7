// Package tally adds up what a decided compaction would keep and remove: in
// all, by policy, and by the values of fields. It passes over the records once,
// in the order of their offsets, or on all cores where their heads suffice. It
// must not know policies, files, or how its report is shown.
package tally

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
)

// Bounds of the memory of one field.
const (
	MaxValues     = 1000     // values of a field in a report
	TrackedValues = 1 << 16  // distinct values that are added up
	trackedBytes  = 16 << 20 // of the texts of these values
)

// pageRecords is how many records are loaded at a time.
const pageRecords = 256

// Total is a number of records, the bytes of these records, and of their data.
type Total struct {
	Records   uint64
	Bytes     uint64
	DataBytes uint64
}

func (t *Total) add(u Total) {
	t.Records += u.Records
	t.Bytes += u.Bytes
	t.DataBytes += u.DataBytes
}

// Split is what would stay and what would go.
type Split struct{ Retained, Removed Total }

func (s *Split) add(u Split) {
	s.Retained.add(u.Retained)
	s.Removed.add(u.Removed)
}

// count adds one record.
func (s *Split) count(one Total, retained bool) {
	if retained {
		s.Retained.add(one)
	} else {
		s.Removed.add(one)
	}
}

func (s *Split) bytes() uint64 { return s.Retained.Bytes + s.Removed.Bytes }

// Module is what one policy retains, and what no other one retains.
type Module struct{ Retained, Only Total }

// Options say what is added up. A zero bound means the constant of its name.
type Options struct {
	Modules       []*kept.Set // what each policy retains, with the boundary of the kept set
	Fields        []string    // names as Field(R, name, _, _) has them, :Type included
	MaxValues     int
	TrackedValues int
	// Step, unless nil, is called before each page of records with the ids
	// that are done or being done; its error ends the pass.
	Step func(done store.Position) error
}

// Report is what Count found.
type Report struct {
	All     Split
	Modules []Module // in the order of the options
	Groups  []Group  // one for each field, in the order of the options
}

// Count adds up the records of a store that set decides about. It ends with
// the error of Step or of the store, or with CorruptStore for a record that is
// none.
func Count(b store.Backend, set *kept.Set, o Options) (*Report, error) {
	c := newCounter(set, o)
	if src, ok := b.(source); ok && len(o.Fields) == 0 {
		return countHeads(src, c)
	}
	refs := make([]store.Ref, 0, pageRecords)
	for next := store.RecordID(1); store.Position(next) <= set.Boundary(); {
		if o.Step != nil {
			if err := o.Step(store.Position(next - 1)); err != nil {
				return nil, err
			}
		}
		refs = refs[:0]
		for ; len(refs) < pageRecords && store.Position(next) <= set.Boundary(); next++ {
			refs = append(refs, store.Ref{ID: next})
		}
		if err := c.page(b, refs); err != nil {
			return nil, err
		}
	}
	return c.report(), nil
}

// counter is a pass under way. It is the visitor of the records' facts.
type counter struct {
	set     *kept.Set
	o       Options
	all     Split
	modules []Module
	groups  []*grouping
}

var _ fact.Visitor = (*counter)(nil)

func newCounter(set *kept.Set, o Options) *counter {
	if o.MaxValues == 0 {
		o.MaxValues = MaxValues
	}
	if o.TrackedValues == 0 {
		o.TrackedValues = TrackedValues
	}
	for _, m := range o.Modules {
		if m.Boundary() != set.Boundary() {
			panic(fmt.Sprintf("tally: a policy's boundary is %d, the kept set's %d", m.Boundary(), set.Boundary()))
		}
	}
	c := &counter{set: set, o: o, modules: make([]Module, len(o.Modules))}
	for _, field := range o.Fields {
		c.groups = append(c.groups, newGrouping(field, o.TrackedValues))
	}
	return c
}

// page loads some records and counts them.
func (c *counter) page(b store.Backend, refs []store.Ref) error {
	result, err := b.Execute(store.LoadRecordsByStoreID{Refs: refs})
	if err != nil {
		return err
	}
	loaded, ok := result.(store.LoadedResult)
	if !ok || len(loaded.Records) != len(refs) {
		return &store.Error{Kind: store.Integration, Doing: "tally", Found: fmt.Sprintf("a %T of another length", result)}
	}
	for i, rec := range loaded.Records {
		if rec.ID != refs[i].ID {
			return &store.Error{Kind: store.Integration, Doing: "tally", ID: refs[i].ID, Found: "a missing record"}
		}
		if err := c.record(rec); err != nil {
			return &store.Error{Kind: store.CorruptStore, Doing: "tally", ID: rec.ID, Hash: rec.Hash, Err: err}
		}
	}
	return nil
}

func (c *counter) record(rec store.Record) error {
	view, err := record.Parse(rec.Bytes)
	if err != nil {
		return err
	}
	one := Total{1, uint64(len(rec.Bytes)), uint64(view.DataLen())}
	retained := c.add(rec.ID, one)
	if len(c.groups) == 0 {
		return nil
	}
	if err := fact.Visit(rec.Bytes, c); err != nil {
		return err
	}
	for _, g := range c.groups {
		g.count(one, retained)
	}
	return nil
}

// add adds up one record by what its head says, and reports whether it stays.
func (c *counter) add(id store.RecordID, one Total) (retained bool) {
	retained = c.set.Has(id)
	c.all.count(one, retained)
	c.byModule(id, one)
	return retained
}

func (c *counter) byModule(id store.RecordID, one Total) {
	last, selecting := 0, 0
	for i, m := range c.o.Modules {
		if m.Has(id) {
			c.modules[i].Retained.add(one)
			last = i
			selecting++
		}
	}
	if selecting == 1 {
		c.modules[last].Only.add(one)
	}
}

// Field implements fact.Visitor: it collects the values of the groups' fields.
func (c *counter) Field(name []byte, _ int, value []byte) bool {
	for _, g := range c.groups {
		if string(name) == g.field {
			g.found = append(g.found, value)
		}
	}
	return true
}

// Link implements fact.Visitor.
func (c *counter) Link([]byte, int, []byte, []byte) bool { return true }

// Contains implements fact.Visitor.
func (c *counter) Contains([]byte) bool { return true }

func (c *counter) report() *Report {
	r := &Report{All: c.all, Modules: c.modules}
	for _, g := range c.groups {
		r.Groups = append(r.Groups, g.group(c.o.MaxValues))
	}
	return r
}
