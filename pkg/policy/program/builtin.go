package program

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// formHint shows how a built-in is written.
func formHint(name string) string {
	switch name {
	case "Compare":
		return "write Compare(x,'op',y): op is one of = != < <= > >=, x and y are values, or both AdmitOrder(r), or both Number(x)"
	case "Prefix":
		return "write Prefix(x,'start')"
	case "Cardinality":
		return "write Cardinality(p(a,...),'op','n'): op is one of = != < <= > >=, n a number without sign and leading zeros"
	case "TopK":
		return "write TopK(p(a,...),PartitionBy(v,...),order,'asc' or 'desc','k'): v and order are variables of p, order also AdmitOrder(v) or Number(v), k a number from 1"
	}
	return name + "(...) belongs into Compare or TopK"
}

// malformed reports an argument of a built-in.
func (b *body) malformed(c syntax.Call, a syntax.Arg, why string) bool {
	b.fail(CodeArgument, a.Position, syntax.PrintArg(a), why, formHint(c.Name))
	return false
}

// argumentCount checks how many arguments a built-in has.
func (b *body) argumentCount(c syntax.Call, want int) bool {
	if len(c.Args) == want {
		return true
	}
	b.fail(CodeArgument, c.Position, c.Name, "built-in with "+arguments(len(c.Args)), formHint(c.Name))
	return false
}

func (b *body) compare(c syntax.Call) (Literal, bool) {
	if !b.argumentCount(c, 3) {
		return nil, false
	}
	left, leftOK := b.operand(c, c.Args[0])
	op, opOK := b.operator(c, c.Args[1])
	right, rightOK := b.operand(c, c.Args[2])
	if !leftOK || !opOK || !rightOK {
		return nil, false
	}
	if left.Form != right.Form {
		return nil, b.malformed(c, c.Args[2], "the two sides are compared in different ways")
	}
	return Compare{Operator: op, Left: left, Right: right, Position: c.Position}, true
}

// operand lowers x, AdmitOrder(x) or Number(x).
func (b *body) operand(c syntax.Call, a syntax.Arg) (Operand, bool) {
	form, inner := PlainText, a
	if a.Form == syntax.Nested {
		switch a.Call.Name {
		case "AdmitOrder":
			form = AdmitOrder
		case "Number":
			form = Number
		default:
			return Operand{}, b.malformed(c, a, "a call that is not AdmitOrder or Number")
		}
		if len(a.Call.Args) != 1 {
			return Operand{}, b.malformed(c, a, a.Call.Name+" takes one value")
		}
		inner = a.Call.Args[0]
	}
	if inner.Form != syntax.Variable && inner.Form != syntax.Constant {
		return Operand{}, b.malformed(c, inner, "neither a variable nor a constant")
	}
	t, _ := b.term(inner)
	return Operand{Form: form, Term: t}, true
}

func (b *body) operator(c syntax.Call, a syntax.Arg) (Operator, bool) {
	if a.Form == syntax.Constant {
		switch a.Text {
		case "=":
			return Equal, true
		case "!=":
			return NotEqual, true
		case "<":
			return Less, true
		case "<=":
			return LessOrEqual, true
		case ">":
			return Greater, true
		case ">=":
			return GreaterOrEqual, true
		}
	}
	return 0, b.malformed(c, a, "not a comparison")
}

// Holds reports whether the operator accepts the order of two values: negative
// when the left one comes first, 0 when they are equal.
func (o Operator) Holds(order int) bool {
	switch o {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	}
	panic(fmt.Sprintf("program: operator %d", o))
}

func (b *body) prefix(c syntax.Call) (Literal, bool) {
	if !b.argumentCount(c, 2) {
		return nil, false
	}
	x, start := c.Args[0], c.Args[1]
	good := true
	if x.Form != syntax.Variable && x.Form != syntax.Constant {
		good = b.malformed(c, x, "neither a variable nor a constant")
	}
	if start.Form != syntax.Constant {
		good = b.malformed(c, start, "the start is a constant")
	}
	if !good {
		return nil, false
	}
	t, _ := b.term(x)
	return Prefix{Term: t, Start: start.Text, Position: c.Position}, true
}

func (b *body) cardinality(c syntax.Call) (Literal, bool) {
	if !b.argumentCount(c, 3) {
		return nil, false
	}
	a, good := b.candidate(c, edge{strict: true})
	op, ok := b.operator(c, c.Args[1])
	good = good && ok
	n := c.Args[2]
	if n.Form != syntax.Constant || !IsNumber(n.Text) {
		good = b.malformed(c, n, "not a number without sign and leading zeros")
	}
	return Cardinality{Atom: a, Operator: op, Count: n.Text, Position: c.Position}, good
}

// candidate lowers the atom that is counted or ranked.
func (b *body) candidate(c syntax.Call, e edge) (Atom, bool) {
	if c.Args[0].Form != syntax.Nested {
		return Atom{}, b.malformed(c, c.Args[0], "not a predicate with its arguments")
	}
	return b.atom(*c.Args[0].Call, e)
}

// IsNumber reports whether text is a canonical unsigned decimal of any size.
func IsNumber(text string) bool {
	if text == "" || len(text) > 1 && text[0] == '0' {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func (b *body) topK(c syntax.Call) (Literal, bool) {
	if !b.argumentCount(c, 5) {
		return nil, false
	}
	a, good := b.candidate(c, edge{strict: true, ranked: true})
	lit := TopK{Atom: a, Position: c.Position}
	if !good {
		// Without its candidate nothing else can be judged.
		return lit, false
	}
	named := slotsOf(a)
	var ok [4]bool
	lit.Partition, ok[0] = b.partition(c, named)
	lit.Order, ok[1] = b.rankOrder(c, named)
	lit.Descending, ok[2] = b.direction(c)
	lit.K, ok[3] = b.limit(c)
	return lit, !slices.Contains(ok[:], false)
}

func (b *body) partition(c syntax.Call, named []Slot) ([]Slot, bool) {
	a := c.Args[1]
	if a.Form != syntax.Nested || a.Call.Name != "PartitionBy" {
		return nil, b.malformed(c, a, "not PartitionBy(...)")
	}
	var slots []Slot
	good := true
	for _, v := range a.Call.Args {
		if !b.isVariableOf(v, named) {
			good = b.malformed(c, v, "not a variable of the ranked predicate")
			continue
		}
		slots = append(slots, b.slot(v.Name))
	}
	return slots, good
}

func (b *body) isVariableOf(a syntax.Arg, named []Slot) bool {
	return a.Form == syntax.Variable && slices.Contains(named, b.slot(a.Name))
}

func (b *body) rankOrder(c syntax.Call, named []Slot) (Operand, bool) {
	order, ok := b.operand(c, c.Args[2])
	if ok && (order.Term.Form != Variable || !slices.Contains(named, order.Term.Slot)) {
		ok = b.malformed(c, c.Args[2], "the order is not a variable of the ranked predicate")
	}
	return order, ok
}

func (b *body) direction(c syntax.Call) (descending, ok bool) {
	a := c.Args[3]
	if a.Form != syntax.Constant || a.Text != "asc" && a.Text != "desc" {
		return false, b.malformed(c, a, "not 'asc' or 'desc'")
	}
	return a.Text == "desc", true
}

func (b *body) limit(c syntax.Call) (uint64, bool) {
	a := c.Args[4]
	if a.Form != syntax.Constant || !IsNumber(a.Text) || a.Text == "0" {
		return 0, b.malformed(c, a, "not a number from 1 without sign and leading zeros")
	}
	k, err := strconv.ParseUint(a.Text, 10, 64)
	if err != nil {
		return 1<<64 - 1, true // more than any relation has
	}
	return k, true
}
