package program

import (
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// stratify returns the derived predicates grouped by mutual recursion, what a
// group depends on before it, and reports groups that read themselves through
// negation, Cardinality or TopK.
func (l *lowering) stratify() [][]PredicateID {
	s := &components{lowering: l, reads: map[PredicateID][]PredicateID{}, state: map[PredicateID]*visit{}}
	for _, e := range l.edges {
		s.reads[e.head] = append(s.reads[e.head], e.body)
	}
	for i, p := range l.predicates {
		if p.Base == NotBase {
			s.visit(PredicateID(i))
		}
	}
	group := map[PredicateID]int{}
	for i, g := range s.groups {
		for _, id := range g {
			group[id] = i
		}
	}
	for _, e := range l.edges {
		if e.strict && l.predicates[e.body].Base == NotBase && group[e.head] == group[e.body] {
			l.errorf(CodeUnstratified, e.position, l.cycle(e), "break the cycle: what is negated, counted or ranked must be complete before",
				"a predicate depends on itself through not, Cardinality or TopK")
		}
	}
	return s.groups
}

// components finds strongly connected components (Tarjan), without recursion
// deeper than the program's chain of helpers.
type components struct {
	*lowering
	reads  map[PredicateID][]PredicateID
	state  map[PredicateID]*visit
	stack  []PredicateID
	count  int
	groups [][]PredicateID
}

type visit struct {
	index, low int
	onStack    bool
}

func (c *components) visit(id PredicateID) *visit {
	if v := c.state[id]; v != nil {
		return v
	}
	v := &visit{index: c.count, low: c.count, onStack: true}
	c.state[id] = v
	c.count++
	c.stack = append(c.stack, id)
	for _, next := range c.reads[id] {
		if c.predicates[next].Base != NotBase {
			continue
		}
		if w := c.state[next]; w == nil {
			v.low = min(v.low, c.visit(next).low)
		} else if w.onStack {
			v.low = min(v.low, w.index)
		}
	}
	if v.low == v.index {
		var group []PredicateID
		for {
			last := c.stack[len(c.stack)-1]
			c.stack = c.stack[:len(c.stack)-1]
			c.state[last].onStack = false
			group = append(group, last)
			if last == id {
				break
			}
		}
		c.groups = append(c.groups, group)
	}
	return v
}

// cycle prints the way from the read predicate back to its reader.
func (l *lowering) cycle(e edge) string {
	path := l.path(e.body, func(id PredicateID) bool { return id == e.head })
	names := []string{l.predicates[e.head].Name}
	for _, id := range path {
		names = append(names, l.predicates[id].Name)
	}
	return strings.Join(names, " -> ")
}

// path returns a shortest chain of reads from one predicate to one that is
// wanted, both included.
func (l *lowering) path(from PredicateID, wanted func(PredicateID) bool) []PredicateID {
	reads := map[PredicateID][]PredicateID{}
	for _, e := range l.edges {
		reads[e.head] = append(reads[e.head], e.body)
	}
	cameFrom := map[PredicateID]PredicateID{from: NoPredicate}
	for todo := []PredicateID{from}; len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if wanted(id) {
			var chain []PredicateID
			for at := id; at != NoPredicate; at = cameFrom[at] {
				chain = append([]PredicateID{at}, chain...)
			}
			return chain
		}
		for _, next := range reads[id] {
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = id
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// authorityPath refuses a selection that depends on who asks: absent authority
// is never read as false (seed 000).
func (l *lowering) authorityPath() {
	from, ok := l.byName[SelectFacet]
	if !ok {
		return
	}
	chain := l.path(from, func(id PredicateID) bool {
		_, isAuthority := l.authority[l.predicates[id].Name]
		return isAuthority
	})
	if chain == nil {
		return
	}
	names := make([]string, len(chain))
	for i, id := range chain {
		names[i] = l.predicates[id].Name
	}
	at := l.firstUse[chain[len(chain)-1]]
	l.errs = append(l.errs, syntax.Diagnostic{
		Code: CodeAuthority, Position: at, Text: strings.Join(names, " -> "),
		Why:  "the selection depends on who asks, and a retention run has nobody asking",
		Mend: "select by what the records say instead",
	})
}
