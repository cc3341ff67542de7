package sweep

import (
	"errors"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/window"
)

// module is the state of one module. Its parts come in rounds, one after the
// other:
//
//	round 0   the evaluator derives what all windows share
//	then      forks of it evaluate the windows side by side
//	then      the evaluator itself evaluates the first of those windows that
//	          found more to share; what it derives for that, all have
//	then      forks evaluate the others of those windows; and so on
//
// Which windows a round has, and what its forks find, depends on the rounds
// before alone: the same however many parts are evaluated at a time.
type module struct {
	sweep     *RetentionSweep
	number    int // one-based
	program   *program.Program
	bounds    []bounds // of each window
	evaluator *eval.Evaluator
	round     int
	alone     bool  // the evaluator itself is in use
	side      []int // windows that forks are to evaluate, in order
	forks     int   // in use
	more      []int // windows that the evaluator itself is to evaluate
	left      int   // windows that are not decided
	report    ModuleReport
}

// bounds are the window (lo, hi], in ids and in anchors.
type bounds struct {
	lo, hi  store.Position
	anchors window.Anchors
}

func newModule(s *RetentionSweep, p *program.Program, number int, boundary store.Position, anchors []string) *module {
	m := &module{sweep: s, number: number, program: p}
	m.report = ModuleReport{File: p.File, Kept: kept.New(boundary), WorkAllowed: s.options.work(boundary)}
	if p.Select == program.NoPredicate || boundary == 0 {
		return m
	}
	for i := 0; i <= len(anchors); i++ {
		b := bounds{hi: boundary}
		if i > 0 {
			b.lo, b.anchors.After = store.Position(uint64(i)*s.options.WindowRecords), anchors[i-1]
		}
		if i < len(anchors) {
			b.hi, b.anchors.Through = store.Position(uint64(i+1)*s.options.WindowRecords), anchors[i]
		}
		m.bounds = append(m.bounds, b)
	}
	m.left = len(m.bounds)
	m.report.Windows = make([]WindowReport, m.left)
	return m
}

// part returns the next part that can be evaluated now, or nil.
func (m *module) part() *Part {
	switch {
	case m.left == 0 || m.alone:
		return nil
	case m.evaluator == nil:
		return m.share()
	case len(m.side) > 0:
		w := m.side[0]
		m.side = m.side[1:]
		return m.fork(w)
	case m.forks == 0:
		slices.Sort(m.more)
		w := m.more[0]
		m.side, m.more = m.more[1:], nil
		return m.own(w)
	}
	return nil
}

// begin opens a round of the evaluator itself.
func (m *module) begin() {
	m.alone = true
	m.round++
}

// end closes it, and opens one of forks.
func (m *module) end() {
	m.alone = false
	m.round++
}

// share is the part that derives what all windows share.
func (m *module) share() *Part {
	m.begin()
	m.evaluator = eval.New(nil, m.program.File, m.sweep.options.eval(m.report.Kept.Boundary()))
	var cost Cost
	return newPart(order{m.number, m.round, 0}, func(ask eval.Store) (err error) {
		if m.sweep.options.DeriveEachWindow {
			return nil
		}
		m.evaluator.Ask(ask)
		cost, err = m.evaluator.Share(window.Rewrite(m.program, m.bounds[0].anchors))
		return err
	}, func() {
		m.end()
		m.report.Shared = cost
		for w := range m.bounds {
			m.side = append(m.side, w)
		}
		// A window that has no others beside it needs no fork.
		if len(m.side) == 1 {
			m.side, m.more = nil, m.side
		}
	})
}

// fork is the part that evaluates a window beside others.
func (m *module) fork(w int) *Part {
	m.forks++
	d := newDecision(m.bounds[w])
	notShared := false
	return newPart(order{m.number, m.round, w}, func(ask eval.Store) error {
		err := d.evaluate(m.beside(ask), m.program, m.sweep.options.DeriveEachWindow)
		if notShared = errors.Is(err, eval.ErrNotShared); notShared {
			return nil
		}
		return err
	}, func() {
		m.forks--
		if notShared {
			m.more = append(m.more, w)
			return
		}
		m.decide(w, d)
	})
}

// beside returns the evaluator of a window beside others.
func (m *module) beside(ask eval.Store) *eval.Evaluator {
	if m.sweep.options.DeriveEachWindow {
		return eval.New(ask, m.program.File, m.sweep.options.eval(m.report.Kept.Boundary()))
	}
	return m.evaluator.Fork(ask)
}

// own is the part in which the evaluator itself evaluates a window.
func (m *module) own(w int) *Part {
	m.begin()
	d := newDecision(m.bounds[w])
	return newPart(order{m.number, m.round, w}, func(ask eval.Store) error {
		e := m.evaluator
		if m.sweep.options.DeriveEachWindow {
			e = m.beside(ask)
		}
		e.Ask(ask)
		return d.evaluate(e, m.program, m.sweep.options.DeriveEachWindow)
	}, func() {
		m.end()
		m.decide(w, d)
	})
}

// decision is the outcome of one window.
type decision struct {
	bounds
	kept *kept.Set // over (0, hi-lo]
	cost Cost
}

func newDecision(b bounds) *decision { return &decision{bounds: b, kept: kept.New(b.hi - b.lo)} }

// evaluate decides about the window. With anew the evaluator is one of this
// window alone, and derives first what it could have shared with others.
func (d *decision) evaluate(e *eval.Evaluator, p *program.Program, anew bool) (err error) {
	selected := func(id store.RecordID) { d.kept.Add(id - store.RecordID(d.lo)) }
	rewritten := window.Rewrite(p, d.anchors)
	if anew {
		if d.cost, err = e.Share(rewritten); err != nil {
			return err
		}
	}
	cost, err := e.Window(rewritten, d.lo, d.hi, selected)
	d.cost.Add(cost)
	return err
}

// decide takes the outcome of a window.
func (m *module) decide(w int, d *decision) {
	for id := range d.kept.IDs() {
		m.report.Kept.Add(id + store.RecordID(d.lo))
	}
	m.report.Windows[w] = WindowReport{Lower: d.lo, Upper: d.hi, Cost: d.cost}
	m.left--
	m.sweep.progress(d.hi - d.lo)
	if m.left == 0 {
		m.evaluator = nil
		m.sweep.settle()
	}
}
