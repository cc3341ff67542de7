package window

import "github.com/lace-store/lace/pkg/policy/program"

// Whole returns, by predicate of p, whether its relation is derived over the
// whole root however small the windows are: a helper that is negated, counted,
// ranked, or called without the selected record. What is false is windowed, or
// is no helper of p. A helper is whole when a clone that p has of it is.
func Whole(p *program.Program) []bool {
	whole := make([]bool, len(p.Predicates))
	if p.Select == program.NoPredicate {
		return whole
	}
	// Which records the anchors name makes no difference to the shape.
	rewritten := Rewrite(p, Anchors{After: "after", Through: "through"})
	for _, s := range rewritten.Strata {
		for _, id := range s.Predicates {
			if int(id) < len(whole) && id != p.Select {
				whole[id] = true
				for id = p.Predicates[id].ClonedFrom; id != program.NoPredicate; id = p.Predicates[id].ClonedFrom {
					whole[id] = true
				}
			}
		}
	}
	return whole
}
