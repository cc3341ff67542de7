package program

import "github.com/lace-store/lace/pkg/policy/syntax"

// Codes of the diagnostics of preparation.
const (
	CodeArity        syntax.Code = "arity"
	CodeReserved     syntax.Code = "reserved"
	CodeUnknown      syntax.Code = "unknown-predicate"
	CodeUnsafe       syntax.Code = "unsafe-variable"
	CodeUnstratified syntax.Code = "unstratified"
	CodeAuthority    syntax.Code = "authority"
	CodeArgument     syntax.Code = "argument"
	CodeParam        syntax.Code = "param"
	CodeNoSelection  syntax.Code = "no-selection"
	CodeLocal        syntax.Code = "shared-local"
	// Warnings.
	CodeUnused syntax.Code = "unused"
	CodeNever  syntax.Code = "never-matches"
)

// SelectFacet is the predicate whose records a module retains.
const SelectFacet = "SelectStoredRecord"

// MaxArity bounds the arguments of a predicate.
const MaxArity = 16

// basePredicates are those projected from records, and Param.
func basePredicates() []Predicate {
	return []Predicate{
		{Name: "Have", Arity: 1, Base: Have, ClonedFrom: NoPredicate},
		{Name: "Field", Arity: 4, Base: Field, ClonedFrom: NoPredicate},
		{Name: "RecordLink", Arity: 5, Base: RecordLink, ClonedFrom: NoPredicate},
		{Name: "ContainsRecord", Arity: 2, Base: ContainsRecord, ClonedFrom: NoPredicate},
		{Name: "Param", Arity: 2, Base: ParamBase, ClonedFrom: NoPredicate},
	}
}

// authority are the predicates about who asks; a retention sweep has nobody.
func authority() map[string]int { return map[string]int{"Here": 1, "PeerConfidential": 1} }

// ignoredFacets are read by exchange and have no meaning for retention.
func ignoredFacets() []string {
	return []string{"ExposeRecord", "SelectAdvertisedCandidate", "TxDisabled", "RxDisabled"}
}

// builtins are the literal and operand forms that look like predicates.
func builtins() []string {
	return []string{"Compare", "Prefix", "Cardinality", "TopK", "AdmitOrder", "Number", "PartitionBy"}
}
