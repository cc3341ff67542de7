package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// body lowers one rule.
type body struct {
	*lowering
	rule  Rule
	slots map[string]Slot
	edges []edge
	// assumed are the variables of literals that are wrong: they may be bound
	// there, so that they are not reported a second time.
	assumed map[Slot]bool
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

// head lowers the head and reports whether it is good.
func (b *body) head(h syntax.Call) bool {
	if class := classify(h.Name); class != helperName && class != selectName {
		return false // reported when it was declared
	}
	id, good := b.predicate(h)
	b.rule.Head = Atom{Predicate: id}
	for _, a := range h.Args {
		if a.Form == syntax.Anonymous {
			b.fail(CodeUnsafe, a.Position, "_", "the head of a rule has no value for the anonymous variable", "name what the rule derives")
			good = false
		}
		t, ok := b.term(a)
		good = good && ok
		b.rule.Head.Args = append(b.rule.Head.Args, t)
	}
	return good
}

// openFact gives SelectStoredRecord(R) :- true. the body Have(R) (seed 000).
func (b *body) openFact() {
	if t := b.rule.Head.Args[0]; t.Form == Variable {
		have := Atom{Predicate: b.byName["Have"], Args: []Term{t}}
		b.edges = append(b.edges, edge{body: have.Predicate, position: b.rule.Position})
		b.rule.Body = append(b.rule.Body, Positive{Atom: have, Position: b.rule.Position})
	}
}

// literal lowers a literal and adds it to the rule if it is good.
func (b *body) literal(l syntax.Literal) {
	if lowered, ok := b.lowered(l); ok {
		b.rule.Body = append(b.rule.Body, lowered)
		return
	}
	b.assume(l.Call)
}

// assume notes the variables of a call that is wrong.
func (b *body) assume(c syntax.Call) {
	for _, a := range c.Args {
		switch a.Form {
		case syntax.Variable:
			b.assumed[b.slot(a.Name)] = true
		case syntax.Nested:
			b.assume(*a.Call)
		}
	}
}

func (b *body) lowered(l syntax.Literal) (Literal, bool) {
	c := l.Call
	if l.Negated {
		if classify(c.Name) == builtinName {
			b.fail(CodeReserved, c.Position, c.Name, "not stands before a predicate", "choose the opposite operator, or negate a helper")
			return nil, false
		}
		a, ok := b.atom(c, edge{strict: true})
		return Negated{Atom: a, Position: l.Position}, ok
	}
	switch c.Name {
	case "Compare":
		return b.compare(c)
	case "Prefix":
		return b.prefix(c)
	case "Cardinality":
		return b.cardinality(c)
	case "TopK":
		return b.topK(c)
	}
	a, ok := b.atom(c, edge{})
	return Positive{Atom: a, Position: l.Position}, ok
}

// atom lowers a call of a base or derived predicate and notes the dependency.
func (b *body) atom(c syntax.Call, e edge) (Atom, bool) {
	switch classify(c.Name) {
	case selectName, exchangeName:
		b.fail(CodeReserved, c.Position, c.Name, "a facet cannot be read in a body", "move what it selects into a helper, and read that")
		return Atom{}, false
	case builtinName:
		b.fail(CodeReserved, c.Position, c.Name, "a built-in stands where a predicate is expected", formHint(c.Name))
		return Atom{}, false
	}
	id, good := b.predicate(c)
	e.body, e.position = id, c.Position
	b.edges = append(b.edges, e)
	a := Atom{Predicate: id}
	for _, arg := range c.Args {
		t, ok := b.term(arg)
		good = good && ok
		a.Args = append(a.Args, t)
	}
	if good && b.predicates[id].Base == ParamBase {
		good = b.checkParam(c)
	}
	return a, good
}

// term lowers a plain argument.
func (b *body) term(a syntax.Arg) (Term, bool) {
	switch a.Form {
	case syntax.Variable:
		return Term{Form: Variable, Slot: b.slot(a.Name)}, true
	case syntax.Constant:
		return Term{Form: Constant, Text: a.Text}, true
	case syntax.Nested:
		b.fail(CodeArgument, a.Position, syntax.PrintArg(a), "a call stands where a value is expected", "use a variable or a constant")
		return Term{}, false
	}
	return Term{Form: Anonymous}, true
}

func (b *body) checkParam(c syntax.Call) bool {
	name := c.Args[0]
	if name.Form != syntax.Constant {
		b.fail(CodeParam, name.Position, syntax.PrintArg(name), "the name of a parameter is a constant", "write Param('name',value)")
		return false
	}
	if _, given := b.params[name.Text]; !given {
		b.fail(CodeParam, name.Position, name.Text, "the parameter is used but not given", b.mendParam(name.Text))
		return false
	}
	return true
}

// mendParam says how to give a parameter, and which one that is given it may
// have meant.
func (b *body) mendParam(name string) string {
	give := "give it with " + syntax.Quote("--param "+name+"=VALUE")
	given := slices.Sorted(maps.Keys(b.params))
	if near := nearest(name, given); near != "" {
		return give + ", or did you mean " + syntax.PrintConstant(near) + "?"
	}
	return give
}

// slotsOf lists the variables of an atom, each once.
func slotsOf(a Atom) []Slot {
	var slots []Slot
	for _, t := range a.Args {
		slots = appendSlot(slots, t)
	}
	return slots
}

func appendSlot(slots []Slot, t Term) []Slot {
	if t.Form != Variable {
		return slots
	}
	for _, s := range slots {
		if s == t.Slot {
			return slots
		}
	}
	return append(slots, t.Slot)
}

// slotNames renders variables for a message.
func (b *body) slotNames(slots []Slot) string {
	names := make([]string, len(slots))
	for i, s := range slots {
		names[i] = b.rule.Slots[s]
	}
	return strings.Join(names, ", ")
}
