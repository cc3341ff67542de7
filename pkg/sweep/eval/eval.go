package eval

import (
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Options bound an evaluation. None may be zero.
type Options struct {
	Boundary        store.Position // records up to here are the root
	PageRows        int            // records of one page of a search
	BlockBindings   int            // bindings that go through a step together
	DistinctQueries int            // different searches of one block
	RelationRows    uint64         // derived tuples of one relation
	Work            uint64         // join bindings and record reads of one window
}

// Cost is what one window took, or what all windows share.
type Cost struct {
	Work        uint64
	RecordsRead uint64
	// Rows has the tuples of every relation that was derived, by its name.
	Rows map[string]uint64
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Work += other.Work
	c.RecordsRead += other.RecordsRead
	if c.Rows == nil {
		c.Rows = make(map[string]uint64, len(other.Rows))
	}
	for name, n := range other.Rows {
		c.Rows[name] += n
	}
}

// Evaluator evaluates the windows of one module over one store. What does not
// depend on the window is derived once and shared by all of them.
type Evaluator struct {
	session
	distinct  int
	program   *program.Program
	constants map[string]value
	relations map[program.PredicateID]*relation
	growing   map[*relation]bool // of the stratum at hand
	delta     struct{ from, to int }
	rows      map[string]uint64
	selected  idSet
	ranked    map[string]*relation // winners by the text of their TopK
	matches   map[string]*relation // of groups over the whole root; nil when too many
	counts    map[string]*tally    // of counted atoms over the whole root; nil when too many
	keepTexts bool                 // what was derived in this window is for all
	ready     bool                 // what is shared was derived
	common    uint64               // the work of it
	forked    bool                 // what is shared belongs to another evaluator
	moments   *moments             // of derivations, while questions are asked
}

// New returns an evaluator of one module, named in its errors.
func New(s Store, module string, o Options) *Evaluator {
	e := &Evaluator{
		session: session{
			store: s, boundary: o.Boundary, page: o.PageRows, batch: o.BlockBindings,
			texts: newTexts(), known: newAssociations(o.Boundary), unique: map[record.Hash]int{},
			meter: meter{module: module, rows: o.RelationRows, allowed: o.Work},
		},
		distinct:  o.DistinctQueries,
		constants: map[string]value{},
		relations: map[program.PredicateID]*relation{},
		growing:   map[*relation]bool{},
		ranked:    map[string]*relation{},
		matches:   map[string]*relation{},
		counts:    map[string]*tally{},
	}
	return e
}

// Window evaluates p, the module as it is rewritten for the window (lo, hi],
// and calls selected once for every record that it selects, in no particular
// order. Predicates that are not windowed must be the same in every window. Its
// budget is that of an evaluation which derives what is shared anew, as seed
// 000 does; its cost is without that. A fork may end with ErrNotShared.
func (e *Evaluator) Window(p *program.Program, lo, hi store.Position, selected func(store.RecordID)) (Cost, error) {
	if _, err := e.Share(p); err != nil {
		return Cost{}, err
	}
	e.start(p, lo, hi, e.common)
	if p.Select == program.NoPredicate || len(p.Rules) == 0 {
		return Cost{Rows: e.rows}, nil
	}
	e.selected.reset(lo, hi)
	if err := e.begin(); err != nil {
		return Cost{}, err
	}
	mark := e.texts.mark()
	for _, s := range p.Strata {
		if !e.isShared(s) {
			if err := e.stratum(s, selected); err != nil {
				return Cost{}, err
			}
		}
	}
	e.forgetWindow(mark)
	return e.cost(), nil
}

// start begins a count of the cost, with the work that was done before.
func (e *Evaluator) start(p *program.Program, lo, hi store.Position, work uint64) {
	e.program, e.rows = p, map[string]uint64{}
	e.meter.work, e.meter.reads, e.meter.lo, e.meter.hi = work, 0, lo, hi
}

func (e *Evaluator) cost() Cost {
	return Cost{Work: e.meter.work - e.common, RecordsRead: e.meter.reads, Rows: e.rows}
}

// isShared reports whether a stratum is the same in every window.
func (e *Evaluator) isShared(s program.Stratum) bool {
	id := s.Predicates[0]
	return id != e.program.Select && !e.program.Predicates[id].Windowed
}

func (e *Evaluator) forgetWindow(mark textMark) {
	for id := range e.relations {
		if !e.isShared(program.Stratum{Predicates: []program.PredicateID{id}}) {
			delete(e.relations, id)
		}
	}
	if !e.keepTexts {
		e.texts.cut(mark)
	}
	e.keepTexts = false
}

// begin resolves the constants of the rules, anchors among them, in one batch,
// and makes the rows of Param.
func (e *Evaluator) begin() error {
	e.meter.rule, e.meter.derives = &e.program.Rules[0], "constants"
	var hashes []record.Hash
	var seen []string
	each := func(text string) {
		if _, known := e.constants[text]; known {
			return
		}
		if record.IsHash([]byte(text)) {
			e.constants[text] = 0
			hashes, seen = append(hashes, record.Hash([]byte(text))), append(seen, text)
			return
		}
		e.constants[text] = e.texts.intern([]byte(text))
	}
	for i := range e.program.Rules {
		eachConstant(&e.program.Rules[i], each)
	}
	used := e.paramPredicates()
	if len(used) > 0 {
		for _, p := range e.program.Params {
			each(p.Name)
			each(p.Value)
		}
	}
	values, err := e.recordValues(len(hashes), func(i int) record.Hash { return hashes[i] })
	if err != nil {
		return err
	}
	for i, text := range seen {
		e.constants[text] = values[i]
	}
	for _, id := range used {
		rel := newRelation(e.program.Predicates[id].Name, e.program.Predicates[id].Arity)
		for _, p := range e.program.Params {
			rel.add([]value{e.constants[p.Name], e.constants[p.Value]})
		}
		e.relations[id] = rel
	}
	return nil
}

// paramPredicates returns the predicates over the parameters that rules read.
func (e *Evaluator) paramPredicates() []program.PredicateID {
	var used []program.PredicateID
	for i := range e.program.Rules {
		for _, lit := range e.program.Rules[i].Body {
			id := reads(lit)
			if id != program.NoPredicate && e.program.Predicates[id].Base == program.ParamBase && !slices.Contains(used, id) {
				used = append(used, id)
			}
		}
	}
	return used
}

// reads returns the predicate that a literal is about.
func reads(lit program.Literal) program.PredicateID {
	switch lit := lit.(type) {
	case program.Positive:
		return lit.Atom.Predicate
	case program.Negated:
		return lit.Atom.Predicate
	case program.TopK:
		return lit.Atom.Predicate
	case program.Cardinality:
		return lit.Atom.Predicate
	}
	return program.NoPredicate
}

func eachConstant(rule *program.Rule, each func(text string)) {
	terms := func(terms ...program.Term) {
		for _, t := range terms {
			if t.Form == program.Constant {
				each(t.Text)
			}
		}
	}
	terms(rule.Head.Args...)
	for _, lit := range rule.Body {
		switch lit := lit.(type) {
		case program.Positive:
			terms(lit.Atom.Args...)
		case program.Negated:
			terms(lit.Atom.Args...)
		case program.TopK:
			terms(lit.Atom.Args...)
		case program.Cardinality:
			terms(lit.Atom.Args...)
		case program.Compare:
			terms(lit.Left.Term, lit.Right.Term)
		case program.Prefix:
			terms(lit.Term)
		}
	}
}
