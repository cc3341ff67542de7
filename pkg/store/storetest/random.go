package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// testRandom holds random conversations with the store and the oracle.
func (s suite) testRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := conversation{suite: s, t: t, backend: s.open(t), oracle: &Linear{}}
		defer func() {
			if err := c.backend.Close(); err != nil {
				rt.Errorf("close: %v", err)
			}
		}()
		actions := map[string]func(*rapid.T){
			"admit":   c.admit,
			"find":    c.find,
			"repeat":  c.repeat,
			"resolve": c.resolve,
			"load":    c.load,
		}
		if s.caps.Reopen != nil {
			actions["reopen"] = c.reopen
		}
		rt.Repeat(actions)
	})
}

type conversation struct {
	suite
	t       *testing.T
	backend store.Backend
	oracle  *Linear
	known   []Record
	queries []store.Query
}

// The alphabets are small, so that records share fields and queries hit.
var (
	someNames  = []string{"Kind", "Ref", "Topic", "topic", "\u00e9"}
	someValues = []string{"a", "ab", "abc", "b", "\ufeffa", "\u00e9"}
	someData   = []string{"", "x", "x y"}
)

func (c *conversation) agree(rt *rapid.T, op store.Op) store.Result {
	got, err := c.backend.Execute(op)
	want, wantErr := c.oracle.Execute(op)
	if diff := differ(got, err, want, wantErr); diff != "" {
		rt.Fatalf("%T %+v: %s", op, op, diff)
	}
	return got
}

func (c *conversation) admit(rt *rapid.T) {
	n := rapid.IntRange(1, 40).Draw(rt, "batch")
	batch := make([]Record, n)
	for i := range batch {
		if len(c.known) > 0 && rapid.IntRange(0, 7).Draw(rt, "again") == 0 {
			batch[i] = rapid.SampledFrom(c.known).Draw(rt, "duplicate")
			continue
		}
		batch[i] = c.record(rt)
		c.known = append(c.known, batch[i])
	}
	c.agree(rt, admission(batch...))
	c.agree(rt, store.CurrentStorePosition{})
}

// reopen closes the store, harms some of its lists if there are any, and goes
// on with its root.
func (c *conversation) reopen(rt *rapid.T) {
	if err := c.backend.Close(); err != nil {
		rt.Fatalf("close: %v", err)
	}
	if c.caps.Lists != nil {
		harms := slices.DeleteFunc(damages(), func(d damage) bool { return !d.anyRoot })
		for _, l := range c.files(c.t, c.backend) {
			if rapid.Bool().Draw(rt, "harm") {
				rapid.SampledFrom(harms).Draw(rt, "damage").harm(c.t, l)
			}
		}
	}
	c.backend = c.caps.Reopen(c.t, c.backend)
}

func (c *conversation) record(rt *rapid.T) Record {
	name := fmt.Sprintf("r%d", len(c.known))
	if rapid.IntRange(0, 4).Draw(rt, "blob") == 0 {
		return Blob(name)
	}
	var headers []Header
	for range rapid.IntRange(0, 4).Draw(rt, "headers") {
		h := Header{Name: rapid.SampledFrom(someNames).Draw(rt, "name")}
		if rapid.Bool().Draw(rt, "link") {
			h.Value = strings.TrimPrefix(rapid.SampledFrom(someData).Draw(rt, "data")+" "+c.target(rt), " ")
		} else {
			h.Value = rapid.SampledFrom(someValues).Draw(rt, "value")
		}
		headers = append(headers, h)
	}
	return Plex(name, headers...)
}

// target is the hash text of an earlier record, or of one that never comes.
func (c *conversation) target(rt *rapid.T) string { return c.hash(rt).String() }

func (c *conversation) hash(rt *rapid.T) record.Hash {
	if n := min(len(c.known), 8); n > 0 && rapid.Bool().Draw(rt, "held") {
		return rapid.SampledFrom(c.known[:n]).Draw(rt, "target").Hash
	}
	return Absent(rapid.IntRange(0, 3).Draw(rt, "absent"))
}

func (c *conversation) constraint(rt *rapid.T) store.Constraint {
	q := store.Constraint{Shape: rapid.SampledFrom([]store.Shape{
		store.FieldPresence, store.FieldExact, store.FieldPrefix, store.LinkTarget, store.LinkNameData, store.LinkName,
	}).Draw(rt, "shape")}
	if q.Shape != store.LinkTarget {
		q.Name = rapid.SampledFrom(append(someNames, ":Type", "Name", "none")).Draw(rt, "name")
	}
	switch q.Shape {
	case store.FieldExact, store.FieldPrefix:
		q.Value = rapid.SampledFrom(append(someValues, "", "B", "P", "r1")).Draw(rt, "value")
	case store.LinkTarget:
		q.Value = c.target(rt)
	case store.LinkNameData:
		q.Value = rapid.SampledFrom(someData).Draw(rt, "data")
	}
	return q
}

func (c *conversation) find(rt *rapid.T) {
	var q store.Query
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 2, 3}).Draw(rt, "constraints") {
		q.Constraints = append(q.Constraints, c.constraint(rt))
	}
	if rapid.IntRange(0, 9).Draw(rt, "by hash") == 0 {
		q.Hash = c.hash(rt)
	}
	c.queries = append(c.queries, q)
	c.search(rt, q)
}

// repeat asks an earlier query again, with other bounds: that is what makes
// keys hot.
func (c *conversation) repeat(rt *rapid.T) {
	if len(c.queries) == 0 {
		rt.Skip("no query yet")
	}
	c.search(rt, rapid.SampledFrom(c.queries).Draw(rt, "query"))
}

func (c *conversation) search(rt *rapid.T, q store.Query) {
	top := uint64(len(c.oracle.records)) + 2
	op := store.FindRecords{
		Query:          q,
		LowerExclusive: store.Position(rapid.Uint64Range(0, top).Draw(rt, "lower")),
		UpperInclusive: store.Position(rapid.Uint64Range(0, top).Draw(rt, "upper")),
		ResumeAfter:    store.RecordID(rapid.Uint64Range(0, top).Draw(rt, "resume")),
		MaxRows:        rapid.SampledFrom([]store.Limit{0, 1, 2, 5, store.Unbounded}).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "whole root") {
		op.LowerExclusive, op.UpperInclusive, op.ResumeAfter = 0, store.Latest, 0
	}
	for {
		res, ok := c.agree(rt, op).(store.FoundResult)
		if !ok || res.Complete {
			return
		}
		op.ResumeAfter = res.ResumeAfter
	}
}

func (c *conversation) resolve(rt *rapid.T) {
	op := store.ResolveStoreRecordIDs{ReadThrough: store.Latest}
	if rapid.Bool().Draw(rt, "finite") {
		op.ReadThrough = store.Position(rapid.Uint64Range(0, uint64(len(c.oracle.records))+1).Draw(rt, "through"))
	}
	for range rapid.IntRange(0, 8).Draw(rt, "hashes") {
		op.Hashes = append(op.Hashes, c.hash(rt))
	}
	c.agree(rt, op)
	c.agree(rt, store.LoadRecordsByHash{Hashes: op.Hashes})
}

func (c *conversation) load(rt *rapid.T) {
	var op store.LoadRecordsByStoreID
	for range rapid.IntRange(0, 8).Draw(rt, "refs") {
		ref := store.Ref{ID: store.RecordID(rapid.Uint64Range(1, uint64(len(c.oracle.records))+2).Draw(rt, "id"))}
		if rapid.Bool().Draw(rt, "expect") {
			ref.Expected = c.hash(rt)
		}
		op.Refs = append(op.Refs, ref)
	}
	c.agree(rt, op)
}
