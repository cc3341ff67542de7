package program

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// body lowers the literals of one rule.
type body struct {
	*lowering
	rule  Rule
	slots map[string]Slot
	edges []edge
}

func (b *body) slot(name string) Slot {
	s, known := b.slots[name]
	if !known {
		s = Slot(len(b.rule.Slots))
		b.slots[name] = s
		b.rule.Slots = append(b.rule.Slots, name)
	}
	return s
}

// openFact gives SelectStoredRecord(R) :- true. the body Have(R) (seed 000).
func (b *body) openFact() {
	if t := b.rule.Head.Args[0]; t.Form == Variable {
		have := Atom{Predicate: b.byName["Have"], Args: []Term{t}}
		b.rule.Body = append(b.rule.Body, Positive{Atom: have, Position: b.rule.Position})
	}
}

func (b *body) headTerm(a syntax.Arg) Term {
	if a.Form == syntax.Anonymous {
		b.errorf(CodeUnsafe, a.Position, "_", "name what the rule derives", "the head of a rule has no value for _")
	}
	return b.term(a)
}

// term lowers a plain argument.
func (b *body) term(a syntax.Arg) Term {
	switch a.Form {
	case syntax.Variable:
		return Term{Form: Variable, Slot: b.slot(a.Name)}
	case syntax.Constant:
		return Term{Form: Constant, Text: a.Text}
	case syntax.Nested:
		b.errorf(CodeArgument, a.Position, a.Call.Name, "use a variable or a constant", "a call stands where a value is expected")
	}
	return Term{Form: Anonymous}
}

// atom lowers a call of a base or derived predicate and notes the dependency.
func (b *body) atom(c syntax.Call, strict bool) (Atom, bool) {
	if c.Name == SelectFacet || slices.Contains(ignoredFacets(), c.Name) {
		b.errorf(CodeReserved, c.Position, c.Name, "move what it selects into a helper, and call that", "a facet cannot be read in a body")
		return Atom{}, false
	}
	if slices.Contains(builtins(), c.Name) {
		b.errorf(CodeReserved, c.Position, c.Name, "see docs/policies.md for its form", "a built-in stands where a predicate is expected")
		return Atom{}, false
	}
	id, ok := b.predicate(c)
	b.edges = append(b.edges, edge{body: id, strict: strict, position: c.Position})
	a := Atom{Predicate: id}
	for _, arg := range c.Args {
		a.Args = append(a.Args, b.term(arg))
	}
	if ok && b.predicates[id].Base == ParamBase {
		ok = b.checkParam(c)
	}
	return a, ok
}

func (b *body) checkParam(c syntax.Call) bool {
	name := c.Args[0]
	if name.Form != syntax.Constant {
		b.errorf(CodeParam, name.Position, syntax.PrintLiteral(syntax.Literal{Call: c}), "write Param('name',value)", "the name of a parameter is a constant")
		return false
	}
	if _, given := b.params[name.Text]; !given {
		b.errorf(CodeParam, name.Position, name.Text, "give it with --param "+name.Text+"=VALUE", "the parameter is used but not given")
		return false
	}
	return true
}

func (b *body) literal(l syntax.Literal) {
	c := l.Call
	if l.Negated {
		if slices.Contains(builtins(), c.Name) {
			b.errorf(CodeReserved, c.Position, c.Name, "negate the operator, or a helper", "not stands before a predicate")
			return
		}
		if a, ok := b.atom(c, true); ok {
			b.rule.Body = append(b.rule.Body, Negated{Atom: a, Position: l.Position})
		}
		return
	}
	var lowered Literal
	ok := false
	switch c.Name {
	case "Compare":
		lowered, ok = b.compare(c)
	case "Prefix":
		lowered, ok = b.prefix(c)
	case "Cardinality":
		lowered, ok = b.cardinality(c)
	case "TopK":
		lowered, ok = b.topK(c)
	default:
		var a Atom
		a, ok = b.atom(c, false)
		lowered = Positive{Atom: a, Position: l.Position}
	}
	if ok {
		b.rule.Body = append(b.rule.Body, lowered)
	}
}

// form reports a built-in that is not written as it must be.
func (b *body) form(c syntax.Call, want string) bool {
	b.errorf(CodeArgument, c.Position, syntax.PrintLiteral(syntax.Literal{Call: c}), "write "+want, "%s is not of this form", c.Name)
	return false
}

const compareForm = "Compare(x,'op',y) with op one of = != < <= > >= and x, y both values, both AdmitOrder(r) or both Number(x)"

func (b *body) compare(c syntax.Call) (Literal, bool) {
	if len(c.Args) != 3 || c.Args[1].Form != syntax.Constant {
		return nil, b.form(c, compareForm)
	}
	op, ok := operator(c.Args[1].Text)
	left, leftOK := b.operand(c.Args[0])
	right, rightOK := b.operand(c.Args[2])
	if !ok || !leftOK || !rightOK || left.Form != right.Form {
		return nil, b.form(c, compareForm)
	}
	lit := Compare{Operator: op, Left: left, Right: right, Position: c.Position}
	b.warnNever(lit, c)
	return lit, true
}

// warnNever warns of a comparison of two constants that is false.
func (b *body) warnNever(l Compare, c syntax.Call) {
	if l.Left.Form != PlainText || l.Left.Term.Form != Constant || l.Right.Term.Form != Constant {
		return
	}
	if !l.Operator.Holds(strings.Compare(l.Left.Term.Text, l.Right.Term.Text)) {
		b.warnings = append(b.warnings, syntax.Diagnostic{
			Code: CodeNever, Position: c.Position, Text: syntax.PrintLiteral(syntax.Literal{Call: c}),
			Why: "this rule can never match", Mend: "remove it, or compare something that varies",
		})
	}
}

func (b *body) operand(a syntax.Arg) (Operand, bool) {
	if a.Form == syntax.Anonymous {
		return Operand{}, false
	}
	if a.Form != syntax.Nested {
		return Operand{Form: PlainText, Term: b.term(a)}, true
	}
	forms := map[string]OperandForm{"AdmitOrder": AdmitOrder, "Number": Number}
	form, known := forms[a.Call.Name]
	if !known || len(a.Call.Args) != 1 || a.Call.Args[0].Form == syntax.Anonymous || a.Call.Args[0].Form == syntax.Nested {
		return Operand{}, false
	}
	return Operand{Form: form, Term: b.term(a.Call.Args[0])}, true
}

func operator(text string) (Operator, bool) {
	ops := map[string]Operator{"=": Equal, "!=": NotEqual, "<": Less, "<=": LessOrEqual, ">": Greater, ">=": GreaterOrEqual}
	op, ok := ops[text]
	return op, ok
}

// Holds reports whether the operator accepts the order of two values, negative
// when the left one comes first.
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
	if len(c.Args) != 2 || c.Args[1].Form != syntax.Constant || c.Args[0].Form == syntax.Nested || c.Args[0].Form == syntax.Anonymous {
		return nil, b.form(c, "Prefix(x,'start')")
	}
	return Prefix{Term: b.term(c.Args[0]), Start: c.Args[1].Text, Position: c.Position}, true
}

func (b *body) cardinality(c syntax.Call) (Literal, bool) {
	const want = "Cardinality(p(a,...),'op','n') with op one of = != < <= > >= and n a number"
	if len(c.Args) != 3 || c.Args[0].Form != syntax.Nested || c.Args[1].Form != syntax.Constant || c.Args[2].Form != syntax.Constant {
		return nil, b.form(c, want)
	}
	op, ok := operator(c.Args[1].Text)
	if !ok || !IsNumber(c.Args[2].Text) {
		return nil, b.form(c, want)
	}
	a, ok := b.atom(*c.Args[0].Call, true)
	return Cardinality{Atom: a, Operator: op, Count: c.Args[2].Text, Position: c.Position}, ok
}

// IsNumber reports whether text is a canonical unsigned decimal of any size.
func IsNumber(text string) bool {
	if text == "" || len(text) > 1 && text[0] == '0' {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func (b *body) topK(c syntax.Call) (Literal, bool) {
	const want = "TopK(p(a,...),PartitionBy(v,...),order,'asc' or 'desc','k') with order one of v, AdmitOrder(v), Number(v)"
	if len(c.Args) != 5 || c.Args[0].Form != syntax.Nested || c.Args[1].Form != syntax.Nested ||
		c.Args[1].Call.Name != "PartitionBy" || c.Args[3].Form != syntax.Constant || c.Args[4].Form != syntax.Constant {
		return nil, b.form(c, want)
	}
	direction, k := c.Args[3].Text, c.Args[4].Text
	count, err := strconv.ParseUint(k, 10, 64)
	if direction != "asc" && direction != "desc" || !IsNumber(k) || k == "0" {
		return nil, b.form(c, want+", k at least 1")
	}
	if err != nil {
		count = 1<<64 - 1 // more than any relation has
	}
	order, ok := b.operand(c.Args[2])
	if !ok || order.Term.Form != Variable {
		return nil, b.form(c, want)
	}
	a, ok := b.atom(*c.Args[0].Call, true)
	if !ok {
		return nil, false
	}
	lit := TopK{Atom: a, Order: order, Descending: direction == "desc", K: count, Position: c.Position}
	named := slotsOf(a)
	if !slices.Contains(named, order.Term.Slot) {
		return nil, b.form(c, want+"; the order is a variable of the candidate")
	}
	for _, arg := range c.Args[1].Call.Args {
		if arg.Form != syntax.Variable || !slices.Contains(named, b.slot(arg.Name)) {
			return nil, b.form(c, want+"; partitions are variables of the candidate")
		}
		lit.Partition = append(lit.Partition, b.slot(arg.Name))
	}
	return lit, true
}

// slotsOf lists the variables of an atom.
func slotsOf(a Atom) []Slot {
	var slots []Slot
	for _, t := range a.Args {
		if t.Form == Variable {
			slots = append(slots, t.Slot)
		}
	}
	return slots
}
