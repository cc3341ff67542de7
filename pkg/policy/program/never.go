package program

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// warnNever warns of rules that can never match: by a constant in them, or
// because they read a helper that can have no row.
func (l *lowering) warnNever() {
	dead := make([]bool, len(l.rules))
	for i, r := range l.rules {
		if at, why := l.contradiction(r); why != "" {
			dead[i] = true
			l.warnDead(r, at, why)
		}
	}
	rows := l.productive(dead)
	for i, r := range l.rules {
		if dead[i] {
			continue
		}
		for _, lit := range r.Body {
			a, at, reads := positiveAtom(lit)
			if reads && l.isDerived(a.Predicate) && !rows[a.Predicate] {
				l.warnDead(r, at, l.short(a.Predicate)+" can have no row")
				break
			}
		}
	}
}

func (l *lowering) warnDead(r Rule, at syntax.Position, why string) {
	l.never[r.Position] = true
	l.warn(CodeNever, at, r.Text, "this rule can never match, since "+why, "mend it or remove it")
}

// isDerived reports whether rules of the module make the predicate.
func (l *lowering) isDerived(id PredicateID) bool {
	_, derived := l.heads[id]
	return derived
}

// positiveAtom returns the atom of which a literal needs a row.
func positiveAtom(l Literal) (Atom, syntax.Position, bool) {
	switch l := l.(type) {
	case Positive:
		return l.Atom, l.Position, true
	case TopK:
		return l.Atom, l.Position, true
	}
	return Atom{}, syntax.Position{}, false
}

// productive returns the derived predicates that may have a row: those with a
// live rule that reads only such ones. A helper that only reads itself is not.
func (l *lowering) productive(dead []bool) map[PredicateID]bool {
	rows := map[PredicateID]bool{}
	missing := make([]int, len(l.rules))
	readers := map[PredicateID][]int{}
	var todo []PredicateID
	found := func(id PredicateID) {
		if !rows[id] {
			rows[id] = true
			todo = append(todo, id)
		}
	}
	for i, r := range l.rules {
		for _, lit := range r.Body {
			if a, _, reads := positiveAtom(lit); reads && l.isDerived(a.Predicate) {
				missing[i]++
				readers[a.Predicate] = append(readers[a.Predicate], i)
			}
		}
		if missing[i] == 0 && !dead[i] {
			found(r.Head.Predicate)
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range readers[id] {
			if missing[i]--; missing[i] == 0 && !dead[i] {
				found(l.rules[i].Head.Predicate)
			}
		}
	}
	return rows
}

// contradiction returns what makes a rule impossible, or "".
func (l *lowering) contradiction(r Rule) (syntax.Position, string) {
	if l.predicates[r.Head.Predicate].Name == SelectFacet && !mayBeRecord(r.Head.Args[0]) {
		return r.Position, "it selects a text that is no record hash"
	}
	for _, lit := range r.Body {
		if at, why := l.impossible(lit); why != "" {
			return at, why
		}
	}
	return syntax.Position{}, ""
}

func (l *lowering) impossible(lit Literal) (syntax.Position, string) {
	switch lit := lit.(type) {
	case Positive:
		return lit.Position, l.impossibleAtom(lit.Atom)
	case TopK:
		return lit.Position, l.impossibleAtom(lit.Atom)
	case Compare:
		return lit.Position, impossibleCompare(lit)
	case Prefix:
		if lit.Term.Form == Constant && !strings.HasPrefix(lit.Term.Text, lit.Start) {
			return lit.Position, "the text has another start"
		}
	case Cardinality:
		if lit.Operator == Less && lit.Count == "0" {
			return lit.Position, "no count is below 0"
		}
	}
	return syntax.Position{}, ""
}

// impossibleAtom checks the constants of a base atom against what records can
// hold.
func (l *lowering) impossibleAtom(a Atom) string {
	var hashes []int
	switch l.predicates[a.Predicate].Base {
	case Have:
		hashes = []int{0}
	case Field:
		hashes = []int{0}
		if why := impossibleField(a); why != "" {
			return why
		}
	case RecordLink:
		hashes = []int{0, 4}
		if why := impossibleLink(a); why != "" {
			return why
		}
	case ContainsRecord:
		hashes = []int{0, 1}
	case ParamBase:
		if value := a.Args[1]; value.Form == Constant && value.Text != l.params[a.Args[0].Text] {
			return "the parameter has another value"
		}
	}
	for _, i := range hashes {
		if !mayBeRecord(a.Args[i]) {
			return fmt.Sprintf("its argument %d is no record hash", i+1)
		}
	}
	return ""
}

func impossibleCompare(c Compare) string {
	left, right := c.Left.Term, c.Right.Term
	if left.Form == Variable && left == right && !c.Operator.Holds(0) {
		return "a value is compared with itself"
	}
	for _, t := range []Term{left, right} {
		if t.Form != Constant {
			continue
		}
		if c.Left.Form == Number && !IsNumber(t.Text) {
			return "it compares a text that is no number without sign and leading zeros"
		}
		if c.Left.Form == AdmitOrder && !mayBeRecord(t) {
			return "it compares a text that is no record hash"
		}
	}
	if left.Form != Constant || right.Form != Constant {
		return ""
	}
	if order, known := constantOrder(c.Left.Form, left.Text, right.Text); known && !c.Operator.Holds(order) {
		return "the comparison is false"
	}
	return ""
}

// constantOrder compares two constants; the order of admission of two records
// is only known when they are one.
func constantOrder(form OperandForm, left, right string) (int, bool) {
	switch form {
	case Number:
		a, aOK := new(big.Int).SetString(left, 10)
		b, bOK := new(big.Int).SetString(right, 10)
		if !aOK || !bOK {
			return 0, false
		}
		return a.Cmp(b), true
	case AdmitOrder:
		return 0, left == right
	}
	return strings.Compare(left, right), true
}
