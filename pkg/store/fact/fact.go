// Package fact is the one projection of record bytes to facts (seed 004 and
// the design page records.md), by visitor, without retaining anything. It
// does not know policies or stores.
package fact

// Visitor receives the facts of one record, in this order: the synthetic
// fields :Type and :Length, the headers, the links among them right after
// their field, containment. The arguments are valid only during the call.
// A method returns false to end the visit.
type Visitor interface {
	// Field is Field(R, name, index, value): index is the zero-based ordinal
	// among the fields of that name in the record.
	Field(name []byte, index int, value []byte) bool
	// Link is RecordLink(R, name, index, data, target); target is a canonical
	// typed hash text.
	Link(name []byte, index int, data, target []byte) bool
	// Contains is ContainsRecord(R, contained): a canonical typed hash text.
	Contains(contained []byte) bool
}
