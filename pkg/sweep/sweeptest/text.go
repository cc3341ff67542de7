package sweeptest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lace-store/lace/pkg/policy/program"
)

// Text renders a program, one rule a line in the order of the program, and
// then its strata, for failure messages and golden files.
func Text(p *program.Program) string {
	var b strings.Builder
	for i := range p.Rules {
		fmt.Fprintln(&b, RuleText(p, &p.Rules[i]))
	}
	for _, s := range p.Strata {
		var names []string
		for _, id := range s.Predicates {
			names = append(names, p.Predicates[id].Name)
		}
		fmt.Fprintf(&b, "%% stratum %s", strings.Join(names, ", "))
		if s.Recursive {
			b.WriteString(" recursive")
		}
		b.WriteString("\n")
	}
	for _, param := range p.Params {
		fmt.Fprintf(&b, "%% param %s = %s\n", param.Name, quote(param.Value))
	}
	return b.String()
}

// RuleText renders one rule.
func RuleText(p *program.Program, r *program.Rule) string {
	t := printer{p, r}
	if len(r.Body) == 0 {
		return t.atom(r.Head) + " :- true."
	}
	var body []string
	for _, lit := range r.Body {
		body = append(body, t.literal(lit))
	}
	return t.atom(r.Head) + " :- " + strings.Join(body, ", ") + "."
}

type printer struct {
	program *program.Program
	rule    *program.Rule
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`).Replace(text) + "'"
}

func (t printer) term(x program.Term) string {
	switch x.Form {
	case program.Variable:
		return t.rule.Slots[x.Slot]
	case program.Constant:
		return quote(x.Text)
	}
	return "_"
}

func (t printer) atom(a program.Atom) string {
	var args []string
	for _, x := range a.Args {
		args = append(args, t.term(x))
	}
	return t.program.Predicates[a.Predicate].Name + "(" + strings.Join(args, ",") + ")"
}

func (t printer) operand(o program.Operand) string {
	switch o.Form {
	case program.AdmitOrder:
		return "AdmitOrder(" + t.term(o.Term) + ")"
	case program.Number:
		return "Number(" + t.term(o.Term) + ")"
	}
	return t.term(o.Term)
}

func operatorText(op program.Operator) string {
	return [...]string{"", "=", "!=", "<", "<=", ">", ">="}[op]
}

func (t printer) literal(lit program.Literal) string {
	switch lit := lit.(type) {
	case program.Positive:
		return t.atom(lit.Atom)
	case program.Negated:
		return "not " + t.atom(lit.Atom)
	case program.Compare:
		return fmt.Sprintf("Compare(%s,'%s',%s)", t.operand(lit.Left), operatorText(lit.Operator), t.operand(lit.Right))
	case program.Prefix:
		return fmt.Sprintf("Prefix(%s,%s)", t.term(lit.Term), quote(lit.Start))
	case program.Cardinality:
		return fmt.Sprintf("Cardinality(%s,'%s','%s')", t.atom(lit.Atom), operatorText(lit.Operator), lit.Count)
	case program.TopK:
		var partition []string
		for _, s := range lit.Partition {
			partition = append(partition, t.rule.Slots[s])
		}
		direction := "asc"
		if lit.Descending {
			direction = "desc"
		}
		return fmt.Sprintf("TopK(%s,PartitionBy(%s),%s,'%s','%s')", t.atom(lit.Atom),
			strings.Join(partition, ","), t.operand(lit.Order), direction, strconv.FormatUint(lit.K, 10))
	}
	return fmt.Sprintf("%T", lit)
}
