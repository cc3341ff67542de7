package program

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// edge says that a rule of head reads body; strict when through a literal that
// needs body complete: not, Cardinality or TopK.
type edge struct {
	head, body PredicateID
	strict     bool
	ranked     bool // through TopK, whose rows are evidence like those of a plain atom
	position   syntax.Position
}

func everyEdge(edge) bool { return true }

// graph is who reads whom.
type graph struct {
	edges []edge
	out   map[PredicateID][]int // indexes into edges, by head
}

func (g *graph) add(e edge) {
	if g.out == nil {
		g.out = map[PredicateID][]int{}
	}
	g.out[e.head] = append(g.out[e.head], len(g.edges))
	g.edges = append(g.edges, e)
}

func (g *graph) readsItself(id PredicateID) bool {
	return slices.ContainsFunc(g.out[id], func(i int) bool { return g.edges[i].body == id })
}

// reachable returns what can be reached over the edges that follow accepts,
// the start included; nothing from NoPredicate.
func (g *graph) reachable(from PredicateID, follow func(edge) bool) map[PredicateID]bool {
	seen := map[PredicateID]bool{}
	if from == NoPredicate {
		return seen
	}
	seen[from] = true
	for todo := []PredicateID{from}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range g.out[id] {
			if e := g.edges[i]; follow(e) && !seen[e.body] {
				seen[e.body] = true
				todo = append(todo, e.body)
			}
		}
	}
	return seen
}

// path returns the edges of a shortest way to a wanted predicate, or nil when
// there is none or the search takes more than budget steps, which it counts
// down.
func (g *graph) path(from PredicateID, wanted func(PredicateID) bool, budget *int) []edge {
	const start = -1
	cameBy := map[PredicateID]int{from: start}
	for todo := []PredicateID{from}; len(todo) > 0; todo = todo[1:] {
		id := todo[0]
		if wanted(id) {
			var way []edge
			for i := cameBy[id]; i != start; i = cameBy[g.edges[i].head] {
				way = append(way, g.edges[i])
			}
			slices.Reverse(way)
			return way
		}
		for _, i := range g.out[id] {
			if *budget--; *budget < 0 {
				return nil
			}
			next := g.edges[i].body
			if _, seen := cameBy[next]; !seen {
				cameBy[next] = i
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// components returns the strongly connected components, each after those that
// it reads (Tarjan's algorithm). Members ascend.
func (g *graph) components(predicates int) [][]PredicateID {
	s := &search{graph: g, state: make([]visit, predicates)}
	for id := range s.state {
		if s.state[id].index == 0 {
			s.visit(PredicateID(id))
		}
	}
	return s.groups
}

// search is the state of components.
type search struct {
	*graph
	state  []visit
	stack  []PredicateID
	count  int
	groups [][]PredicateID
}

// visit is what is known of one predicate; index 0 is not visited yet.
type visit struct {
	index, low int
	onStack    bool
}

// visit recurses at most as deep as there are rules, which MaxRules bounds.
func (s *search) visit(id PredicateID) {
	s.count++
	s.state[id] = visit{index: s.count, low: s.count, onStack: true}
	s.stack = append(s.stack, id)
	for _, i := range s.out[id] {
		next := s.edges[i].body
		if s.state[next].index == 0 {
			s.visit(next)
			s.state[id].low = min(s.state[id].low, s.state[next].low)
		} else if s.state[next].onStack {
			s.state[id].low = min(s.state[id].low, s.state[next].index)
		}
	}
	if s.state[id].low == s.state[id].index {
		s.groups = append(s.groups, s.pop(id))
	}
}

// pop takes a finished component off the stack.
func (s *search) pop(id PredicateID) []PredicateID {
	at := len(s.stack) - 1
	for s.stack[at] != id {
		at--
	}
	group := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, member := range group {
		s.state[member].onStack = false
	}
	slices.Sort(group)
	return group
}
