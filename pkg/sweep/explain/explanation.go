package explain

import "github.com/lace-store/lace/pkg/store"

// Bounds of one explanation of one record under one module (ours).
const (
	MaxRules    = 1000 // derivations and failures
	MaxDepth    = 64   // of those within each other
	MaxBindings = 1000 // counted for a failure
)

// Record is the explanation of one record.
type Record struct {
	ID       store.RecordID `json:"id"`
	Hash     string         `json:"hash"`
	Retained bool           `json:"retained"`
	Modules  []Module       `json:"modules"`
}

// Module says why one module selects the record, or why each of its rules does
// not.
type Module struct {
	File       string      `json:"file"`
	Selected   bool        `json:"selected"`
	Derivation *Derivation `json:"derivation,omitempty"` // when it is selected
	Failures   []Failure   `json:"failures,omitempty"`   // when it is not
	// Cut says why Failures lack some rules.
	Cut string `json:"cut,omitempty"`
}

// Rule names a rule of a module.
type Rule struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"` // canonical
}

// Term is a value, or a variable that has none.
type Term struct {
	Variable string         `json:"variable,omitempty"` // "_" is anonymous
	Value    string         `json:"value"`
	ID       store.RecordID `json:"id,omitempty"` // when the value is a record that is held
}

// Atom is a predicate with its terms. In a goal some may be variables.
type Atom struct {
	Predicate string `json:"predicate"`
	Terms     []Term `json:"terms"`
}

// Variable is a variable of a rule with its value.
type Variable struct {
	Name string `json:"name"`
	Term
}

// Derivation is one instance of a rule: the conclusion follows from the
// premises, one for each literal of the body in its order.
type Derivation struct {
	Conclusion Atom       `json:"conclusion"`
	Rule       Rule       `json:"rule"`
	Binding    []Variable `json:"binding"`
	Premises   []Finding  `json:"premises"`
}

// Failure says why a rule does not derive a goal.
type Failure struct {
	Goal Atom `json:"goal"`
	Rule Rule `json:"rule"`
	// Satisfied are the numbers of the literals that hold together, in the
	// order in which they were tried; Binding is one binding that satisfies
	// them, of Bindings in all (MaxBindings stands for that many or more).
	Satisfied []int      `json:"satisfied"`
	Binding   []Variable `json:"binding"`
	Bindings  int        `json:"bindings"`
	// Failed is the literal that no binding of the others satisfies. The
	// details are about Binding.
	Failed Finding `json:"failed"`
}

// Kind tells literals apart.
type Kind string

// The kinds of a literal.
const (
	Fact        Kind = "fact"        // a base predicate
	Derived     Kind = "derived"     // a helper
	Not         Kind = "not"         // a negated literal
	Compare     Kind = "compare"     // Compare
	Prefix      Kind = "prefix"      // Prefix
	Cardinality Kind = "cardinality" // Cardinality
	TopK        Kind = "topk"        // TopK
	Head        Kind = "head"        // no literal: the head of the rule does not fit the goal
)

// Finding says whether and why a literal holds. Fields that do not apply are
// zero.
type Finding struct {
	Number  int    `json:"number"`  // one-based place in the body; 0 for Head
	Literal string `json:"literal"` // canonical text
	Kind    Kind   `json:"kind"`
	Holds   bool   `json:"holds"`
	Says    string `json:"says"` // in words, safe for a terminal
	// Atom is the fact or tuple that the literal is about: the one that
	// matches, the one that stands against a Not, the candidate of a TopK.
	Atom *Atom `json:"atom,omitempty"`
	// Derivation is that of Atom, when it is derived and not cut.
	Derivation *Derivation `json:"derivation,omitempty"`
	// Failures say why there is no Atom, for each rule of its predicate.
	Failures []Failure `json:"failures,omitempty"`
	Operands []Term    `json:"operands,omitempty"` // of Compare (2) and Prefix (1)
	Counted  *uint64   `json:"counted,omitempty"`  // of Cardinality
	Rank     *Rank     `json:"rank,omitempty"`     // of TopK
	// Cut says why Derivation or some Failures are left out.
	Cut string `json:"cut,omitempty"`
}

// Rank is the place of a candidate of a TopK.
type Rank struct {
	Place     uint64     `json:"place"` // one-based
	Of        uint64     `json:"of"`    // candidates of the partition
	Limit     uint64     `json:"limit"`
	Partition []Variable `json:"partition"`
}
