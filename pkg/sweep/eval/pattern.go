package eval

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// factKind tells the facts of a record apart.
type factKind uint8

const (
	fieldFact factKind = iota + 1
	linkFact
	containsFact
)

// The parts of a fact besides its owner.
const (
	namePart   = iota // field and link
	indexPart         // field and link
	textPart          // the value of a field, the data of a link
	targetPart        // link and containment
	factParts
)

// pattern is one record atom as it is compared with the facts of a record.
type pattern struct {
	kind  factKind
	parts [factParts]argument
	kept  []int // the parts whose text matching needs
	// count, of a test, is what the number of its matches must be; without it
	// there must be none.
	count *threshold
}

// argument is what one part of a fact must be.
type argument struct {
	form argumentForm
	text []byte // of a constant
	n    int    // number of a local or of a known slot
}

type argumentForm uint8

const (
	anyText   argumentForm = iota // nothing
	constant                      // a constant text
	selfText                      // the hash of the record itself
	knownText                     // what an earlier step bound to a slot
	newLocal                      // a variable of the group, met first here
	sameLocal                     // the same variable again
)

// check is a comparison that the texts of a match decide.
type check struct {
	operator    program.Operator
	form        program.OperandForm
	prefix      bool
	left, right argument
}

// output copies a local variable of the group to a slot of the rule.
type output struct{ local, slot int }

// group is a conjunction of record atoms over one owner, ready to be matched
// against records one at a time.
type group struct {
	owner    argument // anyText, constant, knownText (n is the slot) or newLocal (n is the slot)
	anchor   value    // of a constant owner
	patterns []pattern
	tests    []pattern // must have no match, or as many as their count says
	checks   []check
	// existential groups have patterns that keep no text, and nothing else.
	existential bool
	tail        int // from this pattern on, one match is as good as all
	locals      int
	known       []int // slots whose text is compared, by number
	outputs     []output
	outOwner    bool // the owner is an output too
	query       searchQuery
}

// patternMaker turns record atoms into patterns of one group.
type patternMaker struct {
	e      *Evaluator
	group  *group
	owner  program.Term
	before slotSet // slots whose text is known
	live   slotSet
	locals map[program.Slot]int
	uses   map[program.Slot]int
}

// newGroup compiles the record part of a choice. What is in before counts as
// known, so that leaving slots out of it makes a group that does not depend on
// the bindings.
func (e *Evaluator) newGroup(item *groupItem, before, live slotSet) *group {
	m := &patternMaker{
		e: e, group: &group{}, owner: item.owner, before: before, live: live,
		locals: map[program.Slot]int{}, uses: map[program.Slot]int{},
	}
	m.count(item)
	m.setOwner(item)
	for _, a := range m.sorted(item.atoms) {
		if e.program.Predicates[a.Predicate].Base != program.Have {
			m.group.patterns = append(m.group.patterns, m.pattern(a))
		}
	}
	m.setTail(item.counted)
	for _, a := range item.tests {
		m.group.tests = append(m.group.tests, m.pattern(a))
	}
	for _, c := range item.counts {
		p, t := m.pattern(c.Atom), newThreshold(c)
		p.count = &t
		m.group.tests = append(m.group.tests, p)
	}
	for _, c := range item.compares {
		m.group.checks = append(m.group.checks, check{operator: c.Operator, form: c.Left.Form, left: m.operand(c.Left.Term), right: m.operand(c.Right.Term)})
	}
	for _, p := range item.prefixes {
		m.group.checks = append(m.group.checks, check{prefix: true, left: m.operand(p.Term), right: argument{form: constant, text: []byte(p.Start)}})
	}
	m.group.existential = !item.counted && len(m.group.tests) == 0 && !slices.ContainsFunc(m.group.patterns, func(p pattern) bool { return len(p.kept) > 0 })
	m.group.query = e.searchQuery(item, before)
	return m.group
}

// count notes how often each variable occurs in the group: what occurs once
// and is not needed behind is no variable at all.
func (m *patternMaker) count(item *groupItem) {
	use := func(slots []program.Slot) {
		for _, s := range slots {
			m.uses[s]++
		}
	}
	for _, a := range slices.Concat(item.atoms, item.tests) {
		use(slotsOf(a.Args[1:]...))
	}
	for _, c := range item.counts {
		use(slotsOf(c.Atom.Args[1:]...))
	}
	for _, c := range item.compares {
		use(compareSlots(c))
	}
	for _, p := range item.prefixes {
		use(slotsOf(p.Term))
	}
}

func (m *patternMaker) setOwner(item *groupItem) {
	g := m.group
	switch {
	case item.owner.Form == program.Constant:
		g.owner, g.anchor = argument{form: constant}, m.e.constants[item.owner.Text]
	case item.owner.Form == program.Anonymous:
		g.owner = argument{form: anyText}
	case m.before[item.owner.Slot]:
		g.owner = argument{form: knownText, n: int(item.owner.Slot)}
	default:
		g.owner = argument{form: newLocal, n: int(item.owner.Slot)}
		g.outOwner = m.live[item.owner.Slot]
	}
}

// sorted puts the atoms that bind what is needed behind in front of those that
// only test.
func (m *patternMaker) sorted(atoms []program.Atom) []program.Atom {
	atoms = slices.Clone(atoms)
	slices.SortStableFunc(atoms, func(a, b program.Atom) int { return m.weight(b) - m.weight(a) })
	return atoms
}

func (m *patternMaker) weight(a program.Atom) int {
	for _, s := range slotsOf(a.Args[1:]...) {
		if m.isOutput(s) {
			return 1
		}
	}
	return 0
}

// isOutput reports whether a variable of the group is needed behind.
func (m *patternMaker) isOutput(s program.Slot) bool {
	return m.live[s] && !m.before[s] && !sameTerm(m.owner, program.Term{Form: program.Variable, Slot: s})
}

func (m *patternMaker) pattern(a program.Atom) pattern {
	var p pattern
	var parts []int
	switch m.e.program.Predicates[a.Predicate].Base {
	case program.Field:
		p.kind, parts = fieldFact, []int{namePart, indexPart, textPart}
	case program.RecordLink:
		p.kind, parts = linkFact, []int{namePart, indexPart, textPart, targetPart}
	case program.ContainsRecord:
		p.kind, parts = containsFact, []int{targetPart}
	case program.Have:
		return p // a test of the owner itself
	}
	for i, part := range parts {
		arg := m.argument(a.Args[i+1])
		p.parts[part] = arg
		if arg.form != anyText && arg.form != constant {
			p.kept = append(p.kept, part)
		}
	}
	return p
}

// argument compiles one argument of an atom.
func (m *patternMaker) argument(t program.Term) argument {
	if t.Form == program.Variable && !m.before[t.Slot] && !sameTerm(t, m.owner) {
		if n, met := m.locals[t.Slot]; met {
			return argument{form: sameLocal, n: n}
		}
		if m.uses[t.Slot] == 1 && !m.live[t.Slot] {
			return argument{}
		}
		n := m.group.locals
		m.group.locals++
		m.locals[t.Slot] = n
		if m.live[t.Slot] {
			m.group.outputs = append(m.group.outputs, output{n, int(t.Slot)})
		}
		return argument{form: newLocal, n: n}
	}
	return m.operand(t)
}

// operand compiles a term whose text is known once a match is complete.
func (m *patternMaker) operand(t program.Term) argument {
	switch {
	case t.Form == program.Anonymous:
		return argument{}
	case t.Form == program.Constant:
		return argument{form: constant, text: []byte(t.Text)}
	case sameTerm(t, m.owner):
		return argument{form: selfText}
	case m.before[t.Slot]:
		n := slices.Index(m.group.known, int(t.Slot))
		if n < 0 {
			n = len(m.group.known)
			m.group.known = append(m.group.known, int(t.Slot))
		}
		return argument{form: knownText, n: n}
	}
	return argument{form: sameLocal, n: m.locals[t.Slot]}
}

// setTail finds the pattern behind the last one that binds an output. When
// matches are counted there is no tail.
func (m *patternMaker) setTail(counted bool) {
	g := m.group
	if counted {
		g.tail = len(g.patterns)
		return
	}
	for i, p := range g.patterns {
		for _, part := range p.kept {
			arg := p.parts[part]
			isOutput := slices.ContainsFunc(g.outputs, func(o output) bool { return o.local == arg.n })
			if arg.form == newLocal && isOutput {
				g.tail = i + 1
			}
		}
	}
}

// isTest reports whether a match of the group binds nothing that is needed.
func (g *group) isTest() bool { return len(g.outputs) == 0 && !g.outOwner }

// haveOnly reports whether being held is all that the group asks of a record.
func (g *group) haveOnly() bool { return len(g.patterns)+len(g.tests)+len(g.checks) == 0 }

// ownerKnown reports whether the owner is named by a constant or by an earlier
// step, so that its record is loaded and not searched for.
func (g *group) ownerKnown() bool { return g.owner.form == constant || g.owner.form == knownText }

// at returns pattern i of the patterns and the tests behind them.
func (g *group) at(i int) *pattern {
	if i < len(g.patterns) {
		return &g.patterns[i]
	}
	return &g.tests[i-len(g.patterns)]
}
