package tally

import (
	"bytes"
	"cmp"
	"slices"
)

// Group is what would stay and go by the values of one field. A record with
// several values of the field counts in each of them, but in none twice.
type Group struct {
	Field  string
	Values []Value // with exact totals, most bytes first
	None   Split   // records without the field
	Other  Other   // every value that is not in Values
}

// Value is what would stay and go of the records with one value of a field.
type Value struct {
	Value string // as in the record, which may be any bytes
	Split
}

// Other sums the values of a field that a report leaves out. Its totals are
// exact.
type Other struct {
	Split
	Values uint64 // distinct ones, as far as they were told apart
	// More says that there were more values than are told apart: those that
	// came first are, in the order of the records, and any other is in here,
	// whatever its bytes.
	More bool
}

// grouping adds up one field.
type grouping struct {
	field  string
	limit  int
	index  map[string]int // of values
	values []Value
	bytes  int // of the texts of values
	none   Split
	other  Other
	found  [][]byte // values of the record at hand, inside its bytes
}

func newGrouping(field string, limit int) *grouping {
	return &grouping{field: field, limit: limit, index: map[string]int{}}
}

// count adds the record at hand to each value it has.
func (g *grouping) count(one Total, retained bool) {
	if len(g.found) == 0 {
		g.none.count(one, retained)
		return
	}
	if len(g.found) > 1 {
		slices.SortFunc(g.found, bytes.Compare)
		g.found = slices.CompactFunc(g.found, bytes.Equal)
	}
	for _, value := range g.found {
		g.of(value).count(one, retained)
	}
	clear(g.found) // the bytes of a record are not held any longer
	g.found = g.found[:0]
}

// of returns where a value is added up. Once a value did not fit, no new one
// gets in, so that which ones do depends on the order of records alone.
func (g *grouping) of(value []byte) *Split {
	if i, ok := g.index[string(value)]; ok {
		return &g.values[i].Split
	}
	if g.other.More || len(g.values) == g.limit || g.bytes+len(value) > trackedBytes {
		g.other.More = true
		return &g.other.Split
	}
	text := string(value)
	g.index[text] = len(g.values)
	g.values = append(g.values, Value{Value: text})
	g.bytes += len(text)
	return &g.values[len(g.values)-1].Split
}

// group ends the pass: the largest values stand for themselves.
func (g *grouping) group(most int) Group {
	slices.SortFunc(g.values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.bytes(), a.bytes()), cmp.Compare(a.Value, b.Value))
	})
	shown := min(most, len(g.values))
	for _, v := range g.values[shown:] {
		g.other.add(v.Split)
		g.other.Values++
	}
	return Group{Field: g.field, Values: slices.Clone(g.values[:shown]), None: g.none, Other: g.other}
}
