package store

import "github.com/lace-store/lace/pkg/store/record"

// Query is a conjunction of constraints over one record (design page
// store.md). The zero Query matches every record.
type Query struct {
	// Hash, unless zero, is the exact hash of the record.
	Hash record.Hash
	// Constraints must all hold. Their order has no meaning.
	Constraints []Constraint
}

// Shape is the form of a Constraint.
type Shape uint8

// The same-record constraints that a store evaluates.
const (
	FieldPresence Shape = iota + 1 // a field Name exists
	FieldExact                     // a field Name with value Value exists
	FieldPrefix                    // a field Name whose value starts with Value exists
	LinkTarget                     // a link to Value (typed hash text) exists
	LinkNameData                   // a link Name with data Value exists
	LinkName                       // a link Name exists
)

// Constraint is one condition on a record. It is comparable. Name is empty
// for LinkTarget; Value is empty for FieldPresence and LinkName.
type Constraint struct {
	Shape Shape
	Name  string
	Value string
}
