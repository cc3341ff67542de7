package eval

import (
	"errors"
	"maps"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store/record"
)

// ErrNotShared ends a window of a fork that came to need matches over the
// whole root, or their number, which no window has needed before. They are for
// all windows, so the evaluator itself must evaluate this one; forks of it have
// them then.
var ErrNotShared = errors.New("matches over the whole root are not derived yet")

// Share derives what does not depend on the window: the relations that are not
// windowed, and the winners of every TopK. p is the module as it is rewritten
// for any window. Only the first call does, and costs, anything.
func (e *Evaluator) Share(p *program.Program) (Cost, error) {
	if e.ready || p.Select == program.NoPredicate || len(p.Rules) == 0 {
		return Cost{}, nil
	}
	e.start(p, 0, e.boundary, 0)
	if err := e.begin(); err != nil {
		return Cost{}, err
	}
	for _, s := range p.Strata {
		if e.isShared(s) {
			if err := e.stratum(s, nil); err != nil {
				return Cost{}, err
			}
		}
	}
	if err := e.rankShared(); err != nil {
		return Cost{}, err
	}
	cost := e.cost()
	e.ready, e.common, e.keepTexts = true, cost.Work, false
	return cost, nil
}

// Fork returns an evaluator of further windows that asks s, and has what e has
// derived for all windows. While forks are in use, e must not be. What a fork
// does depends on e and the window alone, not on other forks.
func (e *Evaluator) Fork(s Store) *Evaluator {
	return &Evaluator{
		session: session{
			store: s, boundary: e.boundary, page: e.page, batch: e.batch,
			texts: e.texts.fork(), known: e.known, unique: map[record.Hash]int{}, meter: e.meter,
		},
		distinct:  e.distinct,
		constants: maps.Clone(e.constants),
		relations: maps.Clone(e.relations),
		growing:   map[*relation]bool{},
		ranked:    maps.Clone(e.ranked),
		matches:   maps.Clone(e.matches),
		counts:    maps.Clone(e.counts),
		ready:     e.ready, common: e.common, forked: true,
	}
}

// Ask makes an evaluator ask another store, which answers for the same root.
func (e *Evaluator) Ask(s Store) { e.store = s }
