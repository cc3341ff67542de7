package explain

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// quote renders a value as a constant of the policy language, without control
// characters. What is no text of it stands in double quotes.
func quote(text string) string {
	if !utf8.ValidString(text) {
		return strconv.QuoteToASCII(text)
	}
	return syntax.PrintConstant(text)
}

// String renders a record that is held as #id, another value as a constant.
func (t Term) String() string {
	switch {
	case t.Variable != "":
		return t.Variable
	case t.ID != 0:
		return "#" + strconv.FormatUint(uint64(t.ID), 10)
	}
	return quote(t.Value)
}

// String renders the atom on one line.
func (a Atom) String() string {
	terms := make([]string, len(a.Terms))
	for i, t := range a.Terms {
		terms[i] = t.String()
	}
	return a.Predicate + "(" + strings.Join(terms, ",") + ")"
}

// String renders the variable with its value.
func (v Variable) String() string { return v.Name + " = " + v.Term.String() }

// printer renders literals of one rule.
type printer struct {
	predicates []program.Predicate
	slots      []string
}

func (p printer) term(t program.Term) string {
	switch t.Form {
	case program.Variable:
		return p.slots[t.Slot]
	case program.Constant:
		return quote(t.Text)
	}
	return "_"
}

// name returns the name of a predicate as the policy has it.
func (p printer) name(id program.PredicateID) string {
	for p.predicates[id].ClonedFrom != program.NoPredicate {
		id = p.predicates[id].ClonedFrom
	}
	return p.predicates[id].Name
}

func (p printer) atom(a program.Atom) string {
	args := make([]string, len(a.Args))
	for i, t := range a.Args {
		args[i] = p.term(t)
	}
	return p.name(a.Predicate) + "(" + strings.Join(args, ",") + ")"
}

func (p printer) operand(o program.Operand) string {
	switch o.Form {
	case program.AdmitOrder:
		return "AdmitOrder(" + p.term(o.Term) + ")"
	case program.Number:
		return "Number(" + p.term(o.Term) + ")"
	}
	return p.term(o.Term)
}

func operator(o program.Operator) string {
	return [...]string{
		program.Equal: "=", program.NotEqual: "!=", program.Less: "<", program.LessOrEqual: "<=",
		program.Greater: ">", program.GreaterOrEqual: ">=",
	}[o]
}

func (p printer) literal(lit program.Literal) string {
	switch lit := lit.(type) {
	case program.Positive:
		return p.atom(lit.Atom)
	case program.Negated:
		return "not " + p.atom(lit.Atom)
	case program.Compare:
		return "Compare(" + p.operand(lit.Left) + ",'" + operator(lit.Operator) + "'," + p.operand(lit.Right) + ")"
	case program.Prefix:
		return "Prefix(" + p.term(lit.Term) + "," + quote(lit.Start) + ")"
	case program.Cardinality:
		return "Cardinality(" + p.atom(lit.Atom) + ",'" + operator(lit.Operator) + "','" + lit.Count + "')"
	case program.TopK:
		return p.topK(lit)
	}
	panic("explain: a literal of no known kind")
}

func (p printer) topK(lit program.TopK) string {
	partition := make([]string, len(lit.Partition))
	for i, s := range lit.Partition {
		partition[i] = p.slots[s]
	}
	direction := "asc"
	if lit.Descending {
		direction = "desc"
	}
	return "TopK(" + p.atom(lit.Atom) + ",PartitionBy(" + strings.Join(partition, ",") + ")," + p.operand(lit.Order) +
		",'" + direction + "','" + strconv.FormatUint(lit.K, 10) + "')"
}
