package sweeptest

import (
	"errors"
	"math/big"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/policy/program"
)

// ErrTooLarge says that a case has too many bindings for a direct evaluation.
var ErrTooLarge = errors.New("too many bindings for the oracle")

// maxBindings bounds the bindings of one rule.
const maxBindings = 100_000

// Select returns the one-based admission numbers of the records that a program
// selects, in increasing order. records are complete record bytes in order of
// admission. Bytes that are no record are an error; so is ErrTooLarge.
func Select(p *program.Program, records [][]byte) (selected []uint64, err error) {
	m, err := Derive(p, records)
	if err != nil {
		return nil, err
	}
	o := m.oracle
	if p.Select == program.NoPredicate {
		return nil, nil
	}
	for _, t := range o.relations[p.Select].rows {
		if n, held := o.order[t[0]]; held {
			selected = append(selected, uint64(n))
		}
	}
	slices.Sort(selected)
	return slices.Compact(selected), nil
}

// tuples is a set of tuples of texts.
type tuples struct {
	rows [][]string
	seen map[string]bool
}

func (t *tuples) add(row []string) bool {
	key := strings.Join(row, "\x00")
	if t.seen[key] {
		return false
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[key] = true
	t.rows = append(t.rows, slices.Clone(row))
	return true
}

type oracle struct {
	program   *program.Program
	order     map[string]int // hash text to one-based admission
	relations []tuples
}

// project writes all facts of all records down.
func (o *oracle) project(records [][]byte) error {
	byBase := map[program.Base]*tuples{}
	for id, pred := range o.program.Predicates {
		if pred.Base != program.NotBase {
			byBase[pred.Base] = &o.relations[id]
		}
	}
	add := func(f fact) {
		if t := byBase[f.base]; t != nil {
			t.add(f.args)
		}
	}
	for i, rec := range records {
		facts, err := project(rec)
		if err != nil {
			return err
		}
		o.order[facts[0].args[0]] = i + 1
		for _, f := range facts {
			add(f)
		}
	}
	for _, p := range o.program.Params {
		add(fact{program.ParamBase, []string{p.Name, p.Value}})
	}
	return nil
}

// fixpoint applies all rules of a stratum to everything, until nothing is new.
func (o *oracle) fixpoint(s program.Stratum) error {
	for again := true; again; {
		again = false
		for i := range o.program.Rules {
			rule := &o.program.Rules[i]
			if !slices.Contains(s.Predicates, rule.Head.Predicate) {
				continue
			}
			rows, err := o.apply(rule)
			if err != nil {
				return err
			}
			for _, row := range rows {
				again = o.relations[rule.Head.Predicate].add(row) || again
			}
		}
	}
	return nil
}

// binding has the text of each slot; nil is unbound.
type binding []*string

func (b binding) of(t program.Term) (string, bool) {
	switch {
	case t.Form == program.Constant:
		return t.Text, true
	case t.Form == program.Variable && b[t.Slot] != nil:
		return *b[t.Slot], true
	}
	return "", false
}

// with returns the binding extended so that terms match a tuple.
func (b binding) with(terms []program.Term, row []string) (binding, bool) {
	for i, t := range terms { // most tuples fail here, before anything is copied
		if have, bound := b.of(t); bound && have != row[i] {
			return nil, false
		}
	}
	out := slices.Clone(b)
	for i, t := range terms {
		if t.Form == program.Anonymous {
			continue
		}
		if have, bound := out.of(t); !bound {
			out[t.Slot] = &row[i]
		} else if have != row[i] {
			return nil, false
		}
	}
	return out, true
}

// apply returns the head of a rule for every binding of its body.
func (o *oracle) apply(rule *program.Rule) ([][]string, error) {
	bindings := []binding{make(binding, len(rule.Slots))}
	for _, lit := range rule.Body {
		switch lit := lit.(type) {
		case program.Positive:
			bindings = join(bindings, lit.Atom.Args, o.relations[lit.Atom.Predicate].rows)
		case program.TopK:
			terms, rows := o.rank(rule, lit)
			bindings = join(bindings, terms, rows)
		}
		if len(bindings) > maxBindings {
			return nil, ErrTooLarge
		}
	}
	bindings = bindEqual(rule, bindings)
	var heads [][]string
	for _, b := range bindings {
		if !o.holds(rule, b) {
			continue
		}
		row := make([]string, len(rule.Head.Args))
		for i, t := range rule.Head.Args {
			text, bound := b.of(t)
			if !bound {
				panic("sweeptest: unsafe rule " + RuleText(o.program, rule))
			}
			row[i] = text
		}
		heads = append(heads, row)
	}
	return heads, nil
}

func join(bindings []binding, terms []program.Term, rows [][]string) []binding {
	var out []binding
	for _, b := range bindings {
		if len(out) > maxBindings {
			break // the caller gives up
		}
		for _, row := range rows {
			if next, ok := b.with(terms, row); ok {
				out = append(out, next)
			}
		}
	}
	return out
}

// bindEqual lets '=' bind, until it binds nothing more.
func bindEqual(rule *program.Rule, bindings []binding) []binding {
	for _, b := range bindings {
		for again := true; again; {
			again = false
			for _, lit := range rule.Body {
				c, ok := lit.(program.Compare)
				if !ok || c.Operator != program.Equal || c.Left.Form != program.PlainText {
					continue
				}
				left, leftBound := b.of(c.Left.Term)
				right, rightBound := b.of(c.Right.Term)
				switch {
				case leftBound && !rightBound:
					b[c.Right.Term.Slot], again = &left, true
				case rightBound && !leftBound:
					b[c.Left.Term.Slot], again = &right, true
				}
			}
		}
	}
	return bindings
}

// holds decides everything that does not bind.
func (o *oracle) holds(rule *program.Rule, b binding) bool {
	for _, lit := range rule.Body {
		ok := true
		switch lit := lit.(type) {
		case program.Negated:
			ok = len(join([]binding{b}, lit.Atom.Args, o.relations[lit.Atom.Predicate].rows)) == 0
		case program.Compare:
			ok = o.compare(lit, b)
		case program.Prefix:
			text, _ := b.of(lit.Term)
			ok = strings.HasPrefix(text, lit.Start)
		case program.Cardinality:
			want, _ := new(big.Int).SetString(lit.Count, 10)
			ok = lit.Operator.Holds(big.NewInt(int64(o.count(lit.Atom, b))).Cmp(want))
		}
		if !ok {
			return false
		}
	}
	return true
}

// count counts the distinct bindings of what the rule leaves unbound in an
// atom, each anonymous variable by itself.
func (o *oracle) count(a program.Atom, b binding) int {
	var distinct tuples
	for _, row := range o.relations[a.Predicate].rows {
		if _, ok := b.with(a.Args, row); !ok {
			continue
		}
		var open []string
		for i, t := range a.Args {
			if _, bound := b.of(t); !bound {
				open = append(open, row[i])
			}
		}
		distinct.add(open)
	}
	return len(distinct.rows)
}

func (o *oracle) compare(c program.Compare, b binding) bool {
	left, _ := b.of(c.Left.Term)
	right, _ := b.of(c.Right.Term)
	order, ok := o.compareTexts(c.Left.Form, left, right)
	return ok && c.Operator.Holds(order)
}

func (o *oracle) compareTexts(form program.OperandForm, left, right string) (int, bool) {
	switch form {
	case program.AdmitOrder:
		l, leftHeld := o.order[left]
		r, rightHeld := o.order[right]
		return l - r, leftHeld && rightHeld
	case program.Number:
		l, leftOK := number(left)
		r, rightOK := number(right)
		if !leftOK || !rightOK {
			return 0, false
		}
		return l.Cmp(r), true
	}
	return strings.Compare(left, right), true
}

func number(text string) (*big.Int, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	return n, ok && n.String() == text && n.Sign() >= 0
}

// rank returns the winners of a TopK over the candidate's variables.
func (o *oracle) rank(rule *program.Rule, lit program.TopK) ([]program.Term, [][]string) {
	var terms []program.Term
	for _, t := range lit.Atom.Args {
		if t.Form == program.Variable && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	var candidates tuples
	for _, b := range join([]binding{make(binding, len(rule.Slots))}, lit.Atom.Args, o.relations[lit.Atom.Predicate].rows) {
		row := make([]string, len(terms))
		for i, t := range terms {
			row[i], _ = b.of(t)
		}
		key, _ := b.of(lit.Order.Term)
		if _, ok := o.compareTexts(lit.Order.Form, key, key); ok {
			candidates.add(row)
		}
	}
	column := func(s program.Slot) int {
		return slices.IndexFunc(terms, func(t program.Term) bool { return t.Slot == s })
	}
	by := column(lit.Order.Term.Slot)
	slices.SortFunc(candidates.rows, func(a, b []string) int {
		order, _ := o.compareTexts(lit.Order.Form, a[by], b[by])
		if lit.Descending {
			order = -order
		}
		if order == 0 {
			order = slices.Compare(a, b)
		}
		return order
	})
	var winners [][]string
	taken := map[string]uint64{}
	for _, row := range candidates.rows {
		key := ""
		for _, s := range lit.Partition {
			key += row[column(s)] + "\x00"
		}
		if taken[key] < lit.K {
			winners = append(winners, row)
		}
		taken[key]++
	}
	return terms, winners
}
