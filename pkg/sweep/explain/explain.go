package explain

import (
	"fmt"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/specialize"
	"github.com/lace-store/lace/pkg/sweep/window"
)

// Records explains records under modules. They are held at the boundary of the
// options; the explanations are in their order, the modules of each in that of
// the list. Helpers over the whole root are derived once for each module. The
// errors are those of the store, and *eval.LimitError: the relations and all
// questions about one record have the work budget of a window.
func Records(s eval.Store, modules []*program.Program, ids []store.RecordID, o eval.Options) ([]Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	hashes, err := hashesOf(s, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Record, len(ids))
	for i, id := range ids {
		out[i] = Record{ID: id, Hash: hashes[id].String(), Modules: []Module{}}
	}
	for _, p := range modules {
		e := eval.New(s, p.File, o)
		specialized := specialize.Rewrite(p)
		for i, id := range ids {
			m, err := explain(e, p, specialized, id, anchors(hashes, id, o.Boundary))
			if err != nil {
				return nil, fmt.Errorf("explain record #%d: %w", id, err)
			}
			out[i].Retained = out[i].Retained || m.Selected
			out[i].Modules = append(out[i].Modules, m)
		}
	}
	return out, nil
}

// hashesOf loads the hashes of records and of those right before them, which
// are the anchors of their windows.
func hashesOf(s eval.Store, ids []store.RecordID) (map[store.RecordID]record.Hash, error) {
	hashes := map[store.RecordID]record.Hash{}
	op := store.LoadRecordsByStoreID{}
	for _, id := range ids {
		for _, near := range []store.RecordID{id - 1, id} {
			if _, asked := hashes[near]; !asked && near > 0 {
				hashes[near] = record.Hash{}
				op.Refs = append(op.Refs, store.Ref{ID: near})
			}
		}
	}
	res, err := s.Execute(op)
	if err != nil {
		return nil, err
	}
	loaded, ok := res.(store.LoadedResult)
	if !ok || len(loaded.Records) != len(op.Refs) {
		return nil, &store.Error{Kind: store.Integration, Doing: "answer LoadRecordsByStoreID", Found: fmt.Sprintf("a result of type %T", res)}
	}
	for i, rec := range loaded.Records {
		if rec.ID != op.Refs[i].ID {
			return nil, &store.Error{Kind: store.Integration, Doing: "answer LoadRecordsByStoreID", ID: op.Refs[i].ID, Found: fmt.Sprintf("record #%d", rec.ID)}
		}
		hashes[rec.ID] = rec.Hash
	}
	return hashes, nil
}

// anchors returns the anchors of the window of one record.
func anchors(hashes map[store.RecordID]record.Hash, id store.RecordID, boundary store.Position) window.Anchors {
	var a window.Anchors
	if id > 1 {
		a.After = hashes[id-1].String()
	}
	if store.Position(id) < boundary {
		a.Through = hashes[id].String()
	}
	return a
}

// explain explains one record under one module p, which is evaluated as it is
// specialised.
func explain(e *eval.Evaluator, p, specialized *program.Program, id store.RecordID, a window.Anchors) (Module, error) {
	m := Module{File: p.File}
	if p.Select == program.NoPredicate {
		return m, nil
	}
	rewritten := window.Rewrite(specialized, a)
	q, err := e.Inquire(rewritten, store.Position(id)-1, store.Position(id))
	if err != nil {
		return m, err
	}
	defer q.Close()
	x := newExplainer(q, p, rewritten)
	goal := conclusion{predicate: p.Select, tuple: []eval.Value{q.Held(id)}}
	if m.Derivation, err = x.derivation(goal); err != nil {
		return m, err
	}
	if m.Selected = m.Derivation != nil; !m.Selected {
		m.Failures, m.Cut, err = x.failures(p.Select, goal.args())
	}
	return m, err
}

// explainer explains one record under one module.
type explainer struct {
	q       *eval.Inquiry
	program *program.Program // as it is rewritten for the window of the record
	bodies  map[syntax.Position]int
	stratum map[program.PredicateID]int
	rules   int             // applications so far
	depth   int             // of the one at hand
	shown   map[string]bool // atoms that have their derivation
	log     []string        // those, in their order
	path    map[string]bool // what is being derived, or whose failure is explained
}

func newExplainer(q *eval.Inquiry, p, rewritten *program.Program) *explainer {
	x := &explainer{
		q: q, program: rewritten, bodies: map[syntax.Position]int{}, stratum: map[program.PredicateID]int{},
		shown: map[string]bool{}, path: map[string]bool{},
	}
	for _, rule := range p.Rules {
		x.bodies[rule.Position] = len(rule.Body)
	}
	for i, s := range rewritten.Strata {
		for _, id := range s.Predicates {
			x.stratum[id] = i
		}
	}
	return x
}

// body returns the literals that the rule has in its module. The comparisons
// that rewriting adds behind them hold by themselves, since the record of the
// window is always given, and so are the constants of a specialised helper.
func (x *explainer) body(rule *program.Rule) []numbered {
	n, known := x.bodies[rule.Position]
	if !known {
		panic("explain: a rule of no module: " + rule.Text)
	}
	out := make([]numbered, n)
	for i := range out {
		out[i] = numbered{i + 1, rule.Body[i]}
	}
	return out
}

// rulesOf calls visit with the rules of a predicate, until it is done.
func (x *explainer) rulesOf(id program.PredicateID, visit func(rule *program.Rule) (done bool, err error)) error {
	for i := range x.program.Rules {
		if rule := &x.program.Rules[i]; rule.Head.Predicate == id {
			if done, err := visit(rule); err != nil || done {
				return err
			}
		}
	}
	return nil
}

func (x *explainer) printer(rule *program.Rule) printer {
	return printer{x.program.Predicates, rule.Slots}
}

func (x *explainer) isDerived(id program.PredicateID) bool {
	return x.program.Predicates[id].Base == program.NotBase
}

// enter counts an application of a rule, and says why there is no room for it.
func (x *explainer) enter() (cut string) {
	switch {
	case x.rules >= MaxRules:
		return fmt.Sprintf("more than %d rules", MaxRules)
	case x.depth >= MaxDepth:
		return fmt.Sprintf("deeper than %d rules", MaxDepth)
	}
	x.rules++
	return ""
}

// terms materialises values; none becomes the variable of its place.
func (x *explainer) terms(values []eval.Value, variable func(i int) string) ([]Term, error) {
	var known []eval.Value
	for _, v := range values {
		if !v.IsNone() {
			known = append(known, v)
		}
	}
	texts, err := x.q.Texts(known...)
	if err != nil {
		return nil, err
	}
	out := make([]Term, len(values))
	for i, v := range values {
		if v.IsNone() {
			out[i].Variable = variable(i)
			continue
		}
		out[i].Value, texts = texts[0], texts[1:]
		if id, ok := v.Record(); ok {
			out[i].ID = id
		}
	}
	return out, nil
}

// tuple materialises a tuple of a predicate.
func (x *explainer) tuple(id program.PredicateID, values []eval.Value) (*Atom, error) {
	terms, err := x.terms(values, nil)
	return &Atom{Predicate: printer{predicates: x.program.Predicates}.name(id), Terms: terms}, err
}

// binding materialises the slots of a rule that have a value, in the order of
// their first occurrence.
func (x *explainer) binding(rule *program.Rule, b eval.Binding) ([]Variable, error) {
	var values []eval.Value
	out := []Variable{}
	for s, v := range b {
		if !v.IsNone() {
			values = append(values, v)
			out = append(out, Variable{Name: rule.Slots[s]})
		}
	}
	terms, err := x.terms(values, nil)
	for i := range terms {
		out[i].Term = terms[i]
	}
	return out, err
}

func (x *explainer) ruleOf(rule *program.Rule) Rule {
	return Rule{File: rule.Position.File, Line: rule.Position.Line, Text: rule.Text}
}
