package eval

import (
	"encoding/binary"
	"errors"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// Value is one interned value of an Inquiry: a record that is held, or any
// other text. The zero Value is none.
type Value struct{ v value }

// Record returns the id of a record that is held.
func (v Value) Record() (id store.RecordID, ok bool) { return v.v.id(), v.v != 0 && v.v.isRecord() }

// IsNone reports whether v is no value.
func (v Value) IsNone() bool { return v.v == 0 }

// Binding has a value for each slot of a rule; the zero Value is unbound.
type Binding []Value

// AppendKey appends bytes that are the same for two sequences of values of one
// length exactly when the values are.
func AppendKey(key []byte, values ...Value) []byte {
	for _, v := range values {
		key = binary.LittleEndian.AppendUint64(key, uint64(v.v))
	}
	return key
}

// Inquiry has the relations of a module in one window and answers questions
// about them, by the same plans that derived them. All questions together have
// the work budget of one window. It is valid until the next call of Window or
// Inquire.
type Inquiry struct {
	e    *Evaluator
	mark textMark
}

// Inquire derives what the window (lo, hi] of p needs, all but what it
// selects, and keeps it. The program is what Window takes; relations that all
// windows share are derived once. An evaluator that inquires evaluates no
// windows. The errors are those of Window.
func (e *Evaluator) Inquire(p *program.Program, lo, hi store.Position) (*Inquiry, error) {
	if e.moments == nil {
		e.moments = &moments{log: map[*relation][]moment{}}
	}
	if _, err := e.Share(p); err != nil {
		return nil, err
	}
	e.start(p, lo, hi, e.common)
	if err := e.begin(); err != nil {
		return nil, err
	}
	q := &Inquiry{e: e, mark: e.texts.mark()}
	for _, s := range p.Strata {
		if s.Predicates[0] == p.Select || e.isShared(s) {
			continue
		}
		if err := e.stratum(s, nil); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// Close forgets what belongs to the window alone. No Value of it may be used
// any more.
func (q *Inquiry) Close() {
	for id, rel := range q.e.relations {
		if !q.e.isShared(program.Stratum{Predicates: []program.PredicateID{id}}) {
			delete(q.e.moments.log, rel)
		}
	}
	q.e.forgetWindow(q.mark)
}

// Constant returns the value of a constant of the program.
func (q *Inquiry) Constant(text string) Value { return Value{q.e.constants[text]} }

// Held returns the value of a record that is held.
func (q *Inquiry) Held(id store.RecordID) Value { return Value{value(id)} }

// Texts returns the texts of values; records among them may have to be read.
func (q *Inquiry) Texts(values ...Value) ([]string, error) {
	plain := make([]value, len(values))
	for i, v := range values {
		plain[i] = v.v
	}
	if err := q.e.nameRecords(plain); err != nil {
		return nil, err
	}
	texts := make([]string, len(values))
	for i, v := range plain {
		texts[i] = string(q.e.text(v))
	}
	return texts, nil
}

// errEnough ends a plan whose further bindings are not wanted.
var errEnough = errors.New("enough bindings")

// Ask finds the bindings of the literals of a body that extend what is given,
// and calls visit with the given and the wanted slots of each, until it
// returns false. A binding may come more than once. It is valid only during
// the call. The rule names the slots, and errors name the rule.
func (q *Inquiry) Ask(rule *program.Rule, body []program.Literal, given Binding, want []program.Slot, visit func(Binding) (bool, error)) error {
	e := q.e
	asked := &program.Rule{
		Head: program.Atom{Predicate: rule.Head.Predicate, Args: make([]program.Term, len(want))},
		Body: body, Slots: rule.Slots, Position: rule.Position, Text: rule.Text,
	}
	for i, s := range want {
		asked.Head.Args[i] = program.Term{Form: program.Variable, Slot: s}
	}
	e.enter(asked)
	winners := map[int]*relation{}
	for i, lit := range body {
		if topK, ok := lit.(program.TopK); ok {
			rel, err := e.winners(asked, topK)
			if err != nil {
				return err
			}
			winners[i] = rel
		}
	}
	seed, bound := q.seed(rule, given)
	choices, err := e.orderFrom(asked, winners, -1, bound)
	if err != nil {
		return err
	}
	answer := make(Binding, len(rule.Slots))
	p, err := e.build(asked, choices, func(row []value) error {
		copy(answer, given)
		for _, s := range want {
			answer[s] = Value{row[s]}
		}
		more, err := visit(answer)
		if err == nil && !more {
			err = errEnough
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.runFrom(seed); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// seed returns the binding that a question starts from, and what it binds.
func (q *Inquiry) seed(rule *program.Rule, given Binding) ([]value, slotSet) {
	row, bound := make([]value, len(rule.Slots)), newSlotSet(rule)
	for s, v := range given {
		if !v.IsNone() {
			row[s], bound[s] = v.v, true
		}
	}
	return row, bound
}

// Holds reports whether the literals have a common binding that extends what
// is given.
func (q *Inquiry) Holds(rule *program.Rule, body []program.Literal, given Binding) (bool, error) {
	found := false
	err := q.Ask(rule, body, given, nil, func(Binding) (bool, error) { found = true; return false, nil })
	return found, err
}
