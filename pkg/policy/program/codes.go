package program

import "github.com/lace-store/lace/pkg/policy/syntax"

// Codes of the errors of preparation; package syntax has those of the text.
const (
	CodeArity         syntax.Code = "arity"
	CodeReserved      syntax.Code = "reserved"
	CodeUnknown       syntax.Code = "unknown-predicate"
	CodeMisspeltFacet syntax.Code = "misspelt-facet"
	CodeArgument      syntax.Code = "argument"
	CodeUnsafe        syntax.Code = "unsafe-variable"
	CodeLocal         syntax.Code = "shared-local"
	CodeUnstratified  syntax.Code = "unstratified"
	CodeAuthority     syntax.Code = "authority"
	CodeParam         syntax.Code = "param"
	CodeNoSelection   syntax.Code = "no-selection"
)

// Codes of the warnings of preparation.
const (
	CodeUnused     syntax.Code = "unused"
	CodeTextOrder  syntax.Code = "text-order"
	CodeNever      syntax.Code = "never-matches"
	CodeUnselected syntax.Code = "unselected-evidence"
)
