package sweeptest

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// AllFeatures are the names that Features knows: what random modules must have
// between them.
func AllFeatures() []string {
	return []string{
		"bare true", "recursion linear", "recursion not linear", "recursion mutual", "nested helpers",
		"negated base", "negated helper", "negated recursion", "negated link", "negated containment",
		"ranked base", "ranked helper", "ranked recursion", "ranked by text", "ranked by number", "ranked by admission",
		"ascending", "descending", "one partition", "partitioned", "partitioned by several", "ranked with constant", "ranked with repeated variable",
		"counted base", "counted helper", "counted recursion", "counted with own variable", "counted with own variable repeated", "counted with _",
		"count =", "count !=", "count <", "count <=", "count >", "count >=",
		"admission with constant", "admission of variables", "number", "number with constant", "prefix", "= binds", "parameter",
		"constant in head", "repeated variable in head", "repeated variable in atom", "constant record", "constant for helper", "constant for recursion", "constant for nested helper",
		"negated helper with constant", "counted helper with constant", "ranked helper with constant",
		"containment", "link", "variable name", "variable index", "head is not first owner",
	}
}

// Features returns what a prepared module exercises, each name once.
func Features(p *program.Program) []string {
	f := &features{program: p, found: map[string]bool{}, recursive: map[program.PredicateID]bool{}, stratum: map[program.PredicateID]int{}}
	for i, s := range p.Strata {
		for _, id := range s.Predicates {
			f.recursive[id] = s.Recursive
			f.stratum[id] = i + 1
		}
		f.note("recursion mutual", len(s.Predicates) > 1)
	}
	for i := range p.Rules {
		f.rule(&p.Rules[i])
	}
	var names []string
	for name := range f.found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

type features struct {
	program   *program.Program
	found     map[string]bool
	recursive map[program.PredicateID]bool
	stratum   map[program.PredicateID]int // one-based; base predicates have none
}

func (f *features) note(name string, is bool) {
	if is {
		f.found[name] = true
	}
}

func (f *features) rule(r *program.Rule) {
	head := r.Head
	f.note("bare true", len(r.Body) == 1 && r.Text == "SelectStoredRecord(R) :- true.")
	f.note("constant in head", hasForm(head, program.Constant))
	f.note("repeated variable in head", hasRepeated(head))
	same := 0
	for _, lit := range r.Body {
		f.literal(r, lit)
		call, ok := lit.(program.Positive)
		if !ok || f.stratum[call.Atom.Predicate] == 0 {
			continue
		}
		if f.stratum[call.Atom.Predicate] == f.stratum[head.Predicate] {
			same++
		}
		f.note("nested helpers", head.Predicate != f.program.Select && f.stratum[call.Atom.Predicate] < f.stratum[head.Predicate])
	}
	f.note("recursion linear", same == 1)
	f.note("recursion not linear", same > 1)
	if head.Predicate == f.program.Select && head.Args[0].Form == program.Variable {
		first, ok := r.Body[0].(program.Positive)
		f.note("head is not first owner", ok && first.Atom.Args[0] != head.Args[0])
	}
}

func (f *features) literal(r *program.Rule, lit program.Literal) {
	switch lit := lit.(type) {
	case program.Positive:
		base := f.program.Predicates[lit.Atom.Predicate].Base
		f.note("link", base == program.RecordLink)
		f.note("containment", base == program.ContainsRecord)
		f.note("parameter", base == program.ParamBase)
		f.note("repeated variable in atom", hasRepeated(lit.Atom))
		f.note("constant record", base != program.NotBase && base != program.ParamBase && lit.Atom.Args[0].Form == program.Constant)
		if base == program.NotBase && hasForm(lit.Atom, program.Constant) {
			f.note("constant for helper", true)
			f.note("constant for recursion", f.recursive[lit.Atom.Predicate])
			f.note("constant for nested helper", r.Head.Predicate != f.program.Select)
		}
		if base == program.Field || base == program.RecordLink {
			f.note("variable name", lit.Atom.Args[1].Form == program.Variable)
			f.note("variable index", lit.Atom.Args[2].Form == program.Variable)
		}
	case program.Negated:
		f.use("negated", lit.Atom)
		f.note("negated link", f.program.Predicates[lit.Atom.Predicate].Base == program.RecordLink)
		f.note("negated containment", f.program.Predicates[lit.Atom.Predicate].Base == program.ContainsRecord)
	case program.TopK:
		f.ranked(lit)
	case program.Cardinality:
		f.counted(r, lit)
	case program.Prefix:
		f.note("prefix", true)
	case program.Compare:
		constant := lit.Left.Term.Form == program.Constant || lit.Right.Term.Form == program.Constant
		f.note("admission with constant", lit.Left.Form == program.AdmitOrder && constant)
		f.note("admission of variables", lit.Left.Form == program.AdmitOrder && !constant)
		f.note("number", lit.Left.Form == program.Number)
		f.note("number with constant", lit.Left.Form == program.Number && constant)
		f.note("= binds", lit.Operator == program.Equal && lit.Left.Form == program.PlainText && f.isBinding(r, lit))
	}
}

func (f *features) use(how string, a program.Atom) {
	f.note(how+" base", f.stratum[a.Predicate] == 0)
	f.note(how+" helper", f.stratum[a.Predicate] > 0)
	f.note(how+" helper with constant", f.stratum[a.Predicate] > 0 && hasForm(a, program.Constant))
	f.note(how+" recursion", f.recursive[a.Predicate])
}

func (f *features) ranked(lit program.TopK) {
	f.use("ranked", lit.Atom)
	f.note([]string{"ranked by text", "ranked by admission", "ranked by number"}[lit.Order.Form], true)
	f.note("ascending", !lit.Descending)
	f.note("descending", lit.Descending)
	f.note("one partition", len(lit.Partition) == 0)
	f.note("partitioned", len(lit.Partition) == 1)
	f.note("partitioned by several", len(lit.Partition) > 1)
	f.note("ranked with constant", hasForm(lit.Atom, program.Constant))
	f.note("ranked with repeated variable", hasRepeated(lit.Atom))
}

func (f *features) counted(r *program.Rule, lit program.Cardinality) {
	f.use("counted", lit.Atom)
	f.note("count "+operatorText(lit.Operator), true)
	f.note("counted with _", hasForm(lit.Atom, program.Anonymous))
	for i, t := range lit.Atom.Args {
		if t.Form == program.Variable && !f.isBound(r, t.Slot) {
			f.note("counted with own variable", true)
			f.note("counted with own variable repeated", slices.Contains(lit.Atom.Args[:i], t))
		}
	}
}

// isBound reports whether a literal that binds by itself has the variable.
func (f *features) isBound(r *program.Rule, s program.Slot) bool {
	for _, lit := range r.Body {
		var args []program.Term
		switch lit := lit.(type) {
		case program.Positive:
			args = lit.Atom.Args
		case program.TopK:
			args = lit.Atom.Args
		case program.Compare:
			if lit.Operator == program.Equal && lit.Left.Form == program.PlainText {
				args = []program.Term{lit.Left.Term, lit.Right.Term}
			}
		}
		if slices.Contains(args, program.Term{Form: program.Variable, Slot: s}) {
			return true
		}
	}
	return false
}

// isBinding reports whether nothing else binds one side of an equality.
func (f *features) isBinding(r *program.Rule, c program.Compare) bool {
	others := program.Rule{Body: slices.DeleteFunc(slices.Clone(r.Body), func(lit program.Literal) bool {
		other, ok := lit.(program.Compare)
		return ok && other == c
	})}
	for _, t := range []program.Term{c.Left.Term, c.Right.Term} {
		if t.Form == program.Variable && !f.isBound(&others, t.Slot) {
			return true
		}
	}
	return false
}

func hasForm(a program.Atom, form program.TermForm) bool {
	return slices.ContainsFunc(a.Args, func(t program.Term) bool { return t.Form == form })
}

func hasRepeated(a program.Atom) bool {
	for i, t := range a.Args {
		if t.Form == program.Variable && slices.Contains(a.Args[:i], t) {
			return true
		}
	}
	return false
}
