// Package program is the checked intermediate form of one policy module:
// predicates, rules over numbered slots, and strata in evaluation order. It
// does not know stores, windows or how rules are evaluated.
package program

import "github.com/lace-store/lace/pkg/policy/syntax"

// Program is one prepared module. It holds only the rules that
// SelectStoredRecord depends on. A Program is not changed after it is made;
// rewriting (windows, clones) makes a new one.
type Program struct {
	File       string
	Predicates []Predicate // indexed by PredicateID
	Rules      []Rule
	// Strata lists the derived predicates in evaluation order. The predicates
	// of one stratum depend on each other recursively; a stratum that is not
	// recursive has one predicate. Negation, Cardinality and TopK only reach
	// earlier strata.
	Strata []Stratum
	// Select is the predicate SelectStoredRecord, or NoPredicate when the
	// module has no such rule and selects nothing.
	Select PredicateID
	// Params are the rows of the base predicate Param, sorted by name.
	Params []Param
}

// PredicateID indexes Program.Predicates.
type PredicateID int

// NoPredicate is the absent predicate.
const NoPredicate PredicateID = -1

// Predicate is a relation by name. ClonedFrom is NoPredicate except for the
// hygienic clones that rewriting makes; Windowed says of a clone that its
// relation is another one in every window, and Name is then only for messages.
type Predicate struct {
	Name       string
	Arity      int
	Base       Base // NotBase for derived predicates
	ClonedFrom PredicateID
	Windowed   bool
}

// NameOf returns the name that a predicate, or what it is cloned from, has in
// the text of the module.
func (p *Program) NameOf(id PredicateID) string {
	for p.Predicates[id].ClonedFrom != NoPredicate {
		id = p.Predicates[id].ClonedFrom
	}
	return p.Predicates[id].Name
}

// Base tells the base predicates apart.
type Base uint8

// The base predicates. All but ParamBase are projected from records.
const (
	NotBase        Base = iota
	Have                // Have(record)
	Field               // Field(record, name, index, value)
	RecordLink          // RecordLink(record, name, index, data, target)
	ContainsRecord      // ContainsRecord(outer, contained)
	ParamBase           // Param(name, value)
)

// Param is one parameter of the run.
type Param struct{ Name, Value string }

// Stratum is one set of mutually dependent derived predicates.
type Stratum struct {
	Predicates []PredicateID
	Recursive  bool
}

// Rule is one clause. Slots numbers its variables; anonymous variables have no
// slot. Every rule is safe: each slot of the head, of a negated atom and of a
// comparison is bound by a positive literal or by an '=' comparison. The one
// rule `SelectStoredRecord(R) :- true.` is given the body Have(R) (seed 000).
type Rule struct {
	Head     Atom
	Body     []Literal
	Slots    []string // variable names, indexed by Slot
	Position syntax.Position
	Text     string // canonical text, for messages and explanations
}

// Slot numbers a variable within its rule.
type Slot int

// Atom is a predicate applied to terms.
type Atom struct {
	Predicate PredicateID
	Args      []Term
}

// Term is a variable, the anonymous variable or a constant.
type Term struct {
	Form TermForm
	Slot Slot   // for Variable
	Text string // for Constant
}

// TermForm tells terms apart.
type TermForm uint8

// The forms of a term.
const (
	Anonymous TermForm = iota
	Variable
	Constant
)

// Literal is one conjunct of a body: Positive, Negated, Compare, Prefix,
// Cardinality or TopK. Bodies keep the order of the source text.
type Literal interface{ isLiteral() }

// Positive is p(a, ...).
type Positive struct {
	Atom     Atom
	Position syntax.Position
}

// Negated is not p(a, ...).
type Negated struct {
	Atom     Atom
	Position syntax.Position
}

// Compare is Compare(left, 'op', right). Both operands have the same Form,
// except that Number may stand against a plain constant that is a canonical
// number only as Number(constant).
type Compare struct {
	Operator    Operator
	Left, Right Operand
	Position    syntax.Position
}

// Operator is a comparison.
type Operator uint8

// The comparisons.
const (
	Equal Operator = iota + 1
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// Operand is a term, AdmitOrder(term) or Number(term).
type Operand struct {
	Form OperandForm
	Term Term
}

// OperandForm tells operands apart.
type OperandForm uint8

// The forms of an operand.
const (
	PlainText  OperandForm = iota // bytewise text order
	AdmitOrder                    // order of admission; rejects what is not held
	Number                        // canonical unsigned decimal of any size
)

// Prefix is Prefix(term, 'start').
type Prefix struct {
	Term     Term
	Start    string
	Position syntax.Position
}

// Cardinality is Cardinality(p(a, ...), 'op', 'count').
type Cardinality struct {
	Atom     Atom
	Operator Operator
	Count    string // canonical decimal
	Position syntax.Position
}

// TopK is TopK(p(a, ...), PartitionBy(v, ...), order, direction, 'k').
type TopK struct {
	Atom       Atom
	Partition  []Slot
	Order      Operand // its term is a variable of Atom
	Descending bool
	K          uint64
	Position   syntax.Position
}

func (Positive) isLiteral()    {}
func (Negated) isLiteral()     {}
func (Compare) isLiteral()     {}
func (Prefix) isLiteral()      {}
func (Cardinality) isLiteral() {}
func (TopK) isLiteral()        {}
