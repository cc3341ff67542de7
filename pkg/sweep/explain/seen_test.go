package explain_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/explain"
)

// seen counts the literals that a checker went through, each by its kind and
// by what tells it apart from others of its kind.
type seen struct {
	holding, failing map[string]int
	allHold, allFail map[explain.Kind]int
}

func newSeen() *seen {
	return &seen{map[string]int{}, map[string]int{}, map[explain.Kind]int{}, map[explain.Kind]int{}}
}

func (s *seen) hold(kind explain.Kind, p *program.Program, lit program.Literal) {
	s.allHold[kind]++
	for _, name := range kindNames(kind, p, lit) {
		s.holding[name]++
	}
}

func (s *seen) fail(f explain.Finding, p *program.Program, lit program.Literal) {
	s.allFail[f.Kind]++
	for _, name := range kindNames(f.Kind, p, lit) {
		s.failing[name]++
	}
	if f.Kind != explain.TopK {
		return
	}
	switch {
	case f.Atom == nil:
		s.failing["topk, no candidate"]++
	case f.Rank == nil:
		s.failing["topk, no place in the order"]++
	default:
		s.failing["topk, behind the limit"]++
	}
}

var (
	formNames     = []string{program.PlainText: "text", program.AdmitOrder: "admission", program.Number: "number"}
	baseNames     = []string{program.NotBase: "helper", program.Have: "Have", program.Field: "Field", program.RecordLink: "RecordLink", program.ContainsRecord: "ContainsRecord", program.ParamBase: "Param"}
	operatorNames = []string{program.Equal: "=", program.NotEqual: "!=", program.Less: "<", program.LessOrEqual: "<=", program.Greater: ">", program.GreaterOrEqual: ">="}
)

// kindNames returns the names that a literal counts under.
func kindNames(kind explain.Kind, p *program.Program, lit program.Literal) []string {
	name := string(kind)
	of := func(a program.Atom) string { return name + " " + baseNames[p.Predicates[a.Predicate].Base] }
	switch lit := lit.(type) {
	case program.Positive:
		if kind == explain.Fact {
			return []string{of(lit.Atom)}
		}
		return []string{fmt.Sprintf("%s, recursive %t", name, isRecursive(p, lit.Atom.Predicate))}
	case program.Negated:
		return []string{of(lit.Atom)}
	case program.Compare:
		return []string{name + " " + formNames[lit.Left.Form] + " " + operatorNames[lit.Operator]}
	case program.Cardinality:
		return []string{of(lit.Atom), name + " " + operatorNames[lit.Operator]}
	case program.TopK:
		return []string{of(lit.Atom), fmt.Sprintf("%s %s, descending %t", name, formNames[lit.Order.Form], lit.Descending)}
	}
	return []string{name}
}

func isRecursive(p *program.Program, id program.PredicateID) bool {
	return slices.ContainsFunc(p.Strata, func(s program.Stratum) bool { return s.Recursive && slices.Contains(s.Predicates, id) })
}

// everyKind are the names of what must be seen, holding and failing.
func everyKind() []string {
	names := []string{"derived, recursive false", "derived, recursive true", "prefix"}
	for _, base := range baseNames {
		if base != "helper" {
			names = append(names, "fact "+base)
		}
		// A parameter is what it is: random modules neither deny, count nor
		// rank it.
		if base != "Param" {
			names = append(names, "not "+base, "cardinality "+base, "topk "+base)
		}
	}
	for _, form := range formNames {
		names = append(names, "topk "+form+", descending true", "topk "+form+", descending false")
		for _, op := range operatorNames[1:] {
			names = append(names, "compare "+form+" "+op)
		}
	}
	for _, op := range operatorNames[1:] {
		names = append(names, "cardinality "+op)
	}
	return names
}

// ofFailing are the kinds that can only fail.
var ofFailing = []string{"head", "topk, no candidate", "topk, no place in the order", "topk, behind the limit"}

// rarest returns how often the kind was seen that was seen least.
func (s *seen) rarest() int {
	least := s.failing[ofFailing[0]]
	for _, name := range ofFailing {
		least = min(least, s.failing[name])
	}
	for _, name := range everyKind() {
		least = min(least, s.holding[name], s.failing[name])
	}
	return least
}

// rarestInAll is rarest without what tells literals of a kind apart.
func (s *seen) rarestInAll() int {
	least := s.failing[string(explain.Head)]
	for _, kind := range []explain.Kind{explain.Fact, explain.Derived, explain.Not, explain.Compare, explain.Prefix, explain.Cardinality, explain.TopK} {
		least = min(least, s.allHold[kind], s.allFail[kind])
	}
	return least
}

// want fails the test unless every kind was seen often enough, holding and
// failing, and prints how often.
func (s *seen) want(t *testing.T) {
	t.Helper()
	if n := s.rarest(); n < leastOfKind {
		t.Errorf("the rarest kind was seen %d times, want %d", n, leastOfKind)
	}
	if n := s.rarestInAll(); n < leastInAll {
		t.Errorf("all literals of the rarest kind were seen %d times, want %d", n, leastInAll)
	}
	all := maps.Clone(s.holding)
	maps.Copy(all, s.failing)
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&table, "\n%-34s %7d hold %7d fail", name, s.holding[name], s.failing[name])
	}
	t.Log(table.String())
}
