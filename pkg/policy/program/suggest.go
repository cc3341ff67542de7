package program

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

const (
	// maxFacetDistance is how many letters a misspelt SelectStoredRecord may
	// be off.
	maxFacetDistance = 3
	// maxSuggestions bounds the misspelt names for which a near one is
	// searched: each is compared with all others.
	maxSuggestions = 50
	// maxSuggestedBytes bounds the names that are compared.
	maxSuggestedBytes = 64
)

// reportUnknown reports predicates that are called but have no rule.
func (l *lowering) reportUnknown() {
	if len(l.called) == 0 {
		return
	}
	names := l.knownNames()
	slices.SortStableFunc(l.called, func(a, b syntax.Call) int { return a.Position.Compare(b.Position) })
	for i, c := range l.called {
		mend := "define it by a rule, or correct its name"
		if i < maxSuggestions {
			if near := nearest(c.Name, names); near != "" {
				mend = "did you mean " + near + "?"
			}
		}
		l.fail(CodeUnknown, c.Position, c.Name, "unknown predicate", mend)
	}
}

// knownNames are what a misspelt name may have meant, in alphabetical order.
func (l *lowering) knownNames() []string {
	names := suggestible()
	for id := range l.heads {
		if name := l.predicates[id].Name; name != SelectFacet {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nearest returns the known name that is closest to a misspelt one, or "" when
// none is close: a third of the letters may differ, and two in a word of four.
func nearest(name string, known []string) string {
	best, bound := "", max(len(name)/3, min(2, len(name)/2))+1
	for _, k := range known {
		if abs(len(k)-len(name)) >= bound {
			continue
		}
		if d := distance(name, k); d < bound {
			best, bound = k, d
		}
	}
	return best
}

// distance counts the letters by which two names differ, whatever their case.
// Names too long to compare differ in all.
func distance(a, b string) int {
	if len(a) > maxSuggestedBytes || len(b) > maxSuggestedBytes {
		return len(a) + len(b)
	}
	return levenshtein.ComputeDistance(strings.ToLower(a), strings.ToLower(b))
}

func abs(n int) int { return max(n, -n) }
