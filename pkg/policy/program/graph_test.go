package program

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Random graphs: the components are those of mutual reachability, each after
// what it reads, and a path is a shortest one.
func TestGraphAgainstReachability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "predicates")
		var g graph
		for range rapid.IntRange(0, 20).Draw(t, "edges") {
			id := rapid.IntRange(0, n-1)
			g.add(edge{head: PredicateID(id.Draw(t, "head")), body: PredicateID(id.Draw(t, "body"))})
		}
		steps := distances(&g, n)
		group := make([]int, n)
		members := 0
		for i, ids := range g.components(n) {
			members += len(ids)
			for _, id := range ids {
				group[id] = i
			}
		}
		if members != n {
			t.Fatalf("%d members of %d", members, n)
		}
		for a := range n {
			for b := range n {
				mutual := a == b || steps[a][b] < unreachable && steps[b][a] < unreachable
				if mutual != (group[a] == group[b]) {
					t.Fatalf("%d and %d: mutual %v, groups %d and %d", a, b, mutual, group[a], group[b])
				}
				checkPath(t, &g, PredicateID(a), PredicateID(b), steps[a][b])
			}
		}
		for _, e := range g.edges {
			if group[e.body] > group[e.head] {
				t.Fatalf("%d is read before it is complete", e.body)
			}
		}
	})
}

const unreachable = 1 << 20

// distances are those of Floyd and Warshall; 0 from a predicate to itself.
func distances(g *graph, n int) [][]int {
	steps := make([][]int, n)
	for a := range steps {
		steps[a] = slices.Repeat([]int{unreachable}, n)
		steps[a][a] = 0
	}
	for _, e := range g.edges {
		steps[e.head][e.body] = min(steps[e.head][e.body], 1)
	}
	for via := range n {
		for a := range n {
			for b := range n {
				steps[a][b] = min(steps[a][b], steps[a][via]+steps[via][b])
			}
		}
	}
	return steps
}

func checkPath(t *rapid.T, g *graph, from, to PredicateID, steps int) {
	budget := 1000
	way := g.path(from, func(id PredicateID) bool { return id == to }, &budget)
	if reached := g.reachable(from, everyEdge)[to]; reached != (steps < unreachable) {
		t.Fatalf("from %d to %d: reachable %v", from, to, reached)
	}
	if steps == unreachable {
		steps = 0
	}
	if len(way) != steps {
		t.Fatalf("from %d to %d: %d steps, want %d", from, to, len(way), steps)
	}
	for _, e := range way {
		if e.head != from {
			t.Fatalf("the path leaves %d at %d", from, e.head)
		}
		from = e.body
	}
	if len(way) > 0 && from != to {
		t.Fatalf("the path ends at %d, not %d", from, to)
	}
}

func TestOperatorHolds(t *testing.T) {
	for _, c := range []struct {
		operator             Operator
		less, equal, greater bool
	}{
		{Equal, false, true, false},
		{NotEqual, true, false, true},
		{Less, true, false, false},
		{LessOrEqual, true, true, false},
		{Greater, false, false, true},
		{GreaterOrEqual, false, true, true},
	} {
		if c.operator.Holds(-5) != c.less || c.operator.Holds(0) != c.equal || c.operator.Holds(5) != c.greater {
			t.Errorf("operator %d: %v %v %v", c.operator, c.operator.Holds(-5), c.operator.Holds(0), c.operator.Holds(5))
		}
	}
}

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "7": true, "10": true, strings.Repeat("9", 100): true,
		"": false, "00": false, "07": false, "-1": false, "+1": false, "1.0": false, " 1": false, "1e3": false, "٣": false,
	} {
		if IsNumber(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"Cardinality", "Field", "Have", "TopK", "pinned", "x"}
	for name, want := range map[string]string{
		"feild": "Field", "FIELD": "Field", "Hav": "Have", "topk": "TopK", "cardinalty": "Cardinality", "pined": "pinned",
		"zz": "", "a": "", "something": "", strings.Repeat("x", 1000): "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
