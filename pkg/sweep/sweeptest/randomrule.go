package sweeptest

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// ruleMaker collects the literals of one random rule.
type ruleMaker struct {
	*generator
	rule  program.Rule
	sorts []sort // of the slots; every slot is bound
}

func (b *ruleMaker) fresh(s sort) program.Term {
	slot := program.Slot(len(b.rule.Slots))
	b.rule.Slots = append(b.rule.Slots, fmt.Sprintf("%c%d", "tR"[s], slot))
	b.sorts = append(b.sorts, s)
	return program.Term{Form: program.Variable, Slot: slot}
}

// bound returns a variable that the rule has, of a sort if there is one.
func (b *ruleMaker) bound(s sort) (program.Term, bool) {
	if len(b.sorts) == 0 {
		return program.Term{}, false
	}
	start := b.rng.IntN(len(b.sorts))
	for i := range b.sorts {
		slot := (start + i) % len(b.sorts)
		if b.sorts[slot] == s || b.sorts[slot] != local && b.one(30) {
			return program.Term{Form: program.Variable, Slot: program.Slot(slot)}, true
		}
	}
	return program.Term{}, false
}

func (b *ruleMaker) constant(s sort) program.Term {
	text := pick(b.rng, textValues)
	switch {
	case s == recs:
		text = b.hash()
	case b.one(4):
		text = pick(b.rng, numbers)
	}
	return program.Term{Form: program.Constant, Text: text}
}

// argument returns a term that may bind.
func (b *ruleMaker) argument(s sort) program.Term {
	switch b.rng.IntN(20) {
	case 0, 1:
		return program.Term{}
	case 2:
		return b.constant(s)
	case 3, 4, 5, 6, 7, 8, 9:
		if t, ok := b.bound(s); ok {
			return t
		}
	}
	return b.fresh(s)
}

func (b *ruleMaker) name(names []string) program.Term {
	switch b.rng.IntN(12) {
	case 0:
		return b.fresh(texts)
	case 1:
		return program.Term{}
	case 2:
		if t, ok := b.bound(texts); ok {
			return t
		}
	}
	return program.Term{Form: program.Constant, Text: pick(b.rng, names)}
}

func (b *ruleMaker) index() program.Term {
	switch b.rng.IntN(20) {
	case 0:
		return program.Term{Form: program.Constant, Text: pick(b.rng, []string{"0", "1"})}
	case 1:
		return b.argument(texts)
	}
	return program.Term{}
}

// baseAtom returns an atom over the records or the parameters.
func (b *ruleMaker) baseAtom(argument func(sort) program.Term) program.Atom {
	valueSort := texts
	if b.one(5) {
		valueSort = recs // links are fields too
	}
	switch b.rng.IntN(16) {
	case 0, 1:
		return program.Atom{Predicate: haveID, Args: []program.Term{argument(recs)}}
	case 2:
		return program.Atom{Predicate: paramID, Args: []program.Term{{Form: program.Constant, Text: pick(b.rng, []string{"p", "q"})}, argument(valueSort)}}
	case 3, 4:
		return program.Atom{Predicate: containsID, Args: []program.Term{argument(recs), argument(recs)}}
	case 5, 6, 7, 8, 9:
		return program.Atom{Predicate: linkID, Args: []program.Term{argument(recs), b.name(linkNames), b.index(), argument(texts), argument(recs)}}
	}
	names := append([]string{":Type", ":Length", "Name", "By"}, slices.Concat(fieldNames, fieldNames, fieldNames, linkNames)...)
	return program.Atom{Predicate: fieldID, Args: []program.Term{argument(recs), b.name(names), b.index(), argument(valueSort)}}
}

func (b *ruleMaker) helperAtom(id program.PredicateID, argument func(sort) program.Term) program.Atom {
	a := program.Atom{Predicate: id}
	for _, s := range b.generator.sorts[id-firstHelper] {
		a.Args = append(a.Args, argument(s))
	}
	return a
}

// positive adds a literal that binds.
func (b *ruleMaker) positive() {
	callable := slices.Concat(b.lower, b.current)
	var lit program.Literal
	switch {
	case b.one(8):
		lit = b.topK()
	case len(callable) > 0 && b.one(2):
		lit = program.Positive{Atom: b.helperAtom(pick(b.rng, callable), b.argument), Position: b.rule.Position}
	default:
		lit = program.Positive{Atom: b.baseAtom(b.argument), Position: b.rule.Position}
	}
	b.rule.Body = append(b.rule.Body, lit)
}

// topK ranks a helper of a lower stratum or the facts of records.
func (b *ruleMaker) topK() program.Literal {
	argument := func(s sort) program.Term {
		if b.one(6) {
			return b.argument(s)
		}
		return b.fresh(s)
	}
	var a program.Atom
	if len(b.lower) > 0 && !b.one(3) {
		a = b.helperAtom(pick(b.rng, b.lower), argument)
	} else {
		a = b.baseAtom(argument)
	}
	var slots []program.Slot
	for _, t := range a.Args {
		if t.Form == program.Variable && !slices.Contains(slots, t.Slot) {
			slots = append(slots, t.Slot)
		}
	}
	if len(slots) == 0 {
		return program.Positive{Atom: a, Position: b.rule.Position}
	}
	order := pick(b.rng, slots)
	form := pick(b.rng, []program.OperandForm{program.PlainText, program.Number})
	if b.sorts[order] == recs {
		form = pick(b.rng, []program.OperandForm{program.PlainText, program.AdmitOrder, program.AdmitOrder})
	}
	lit := program.TopK{
		Atom: a, Order: program.Operand{Form: form, Term: program.Term{Form: program.Variable, Slot: order}},
		Descending: b.one(2), K: uint64(1 + b.rng.IntN(3)), Position: b.rule.Position,
	}
	for _, s := range slots {
		if b.one(3) {
			lit.Partition = append(lit.Partition, s)
		}
	}
	return lit
}

// equal adds a comparison that may bind.
func (b *ruleMaker) equal() {
	s := sort(b.rng.IntN(2))
	other := b.constant(s)
	if t, ok := b.bound(s); ok && b.one(2) {
		other = t
	}
	left, right := b.fresh(s), other
	if b.one(2) {
		left, right = right, left
	}
	b.rule.Body = append(b.rule.Body, program.Compare{
		Operator: program.Equal, Left: program.Operand{Term: left}, Right: program.Operand{Term: right}, Position: b.rule.Position,
	})
}

func (b *ruleMaker) headTerm(s sort) program.Term {
	if b.one(12) {
		return b.constant(s)
	}
	if t, ok := b.bound(s); ok {
		return t
	}
	t := b.fresh(s)
	a := program.Atom{Predicate: haveID, Args: []program.Term{t}}
	if s == texts {
		owner, ok := b.bound(recs)
		if !ok {
			owner = b.fresh(recs)
		}
		a = program.Atom{Predicate: fieldID, Args: []program.Term{owner, {Form: program.Constant, Text: pick(b.rng, fieldNames)}, {}, t}}
	}
	b.rule.Body = append(b.rule.Body, program.Positive{Atom: a, Position: b.rule.Position})
	return t
}

// decided returns a term that is known once everything is bound.
func (b *ruleMaker) decided(s sort) program.Term {
	if t, ok := b.bound(s); ok && !b.one(4) {
		return t
	}
	return b.constant(s)
}

// decide adds a literal that binds nothing.
func (b *ruleMaker) decide() {
	open := func(s sort) program.Term {
		if b.one(2) {
			return program.Term{}
		}
		return b.decided(s)
	}
	op := program.Operator(1 + b.rng.IntN(6))
	switch n := b.rng.IntN(10); {
	case n < 3:
		before := len(b.rule.Slots)
		counts := b.cardinality && b.one(2)
		argument := open
		if counts {
			argument = b.counted(before, open)
		}
		a := b.baseAtom(argument)
		if len(b.lower) > 0 && b.one(2) {
			a = b.helperAtom(pick(b.rng, b.lower), argument)
		}
		for slot := before; slot < len(b.sorts); slot++ {
			b.sorts[slot] = local
		}
		if counts {
			b.rule.Body = append(b.rule.Body, program.Cardinality{Atom: a, Operator: op, Count: fmt.Sprint(b.rng.IntN(4)), Position: b.rule.Position})
			return
		}
		closeAtom(&a, before)
		b.rule.Body = append(b.rule.Body, program.Negated{Atom: a, Position: b.rule.Position})
	case n < 5:
		b.compare(op, program.AdmitOrder, recs)
	case n < 6:
		b.compare(op, program.Number, texts)
	case n < 8:
		b.compare(op, program.PlainText, sort(b.rng.IntN(2)))
	default:
		s := sort(b.rng.IntN(2))
		b.rule.Body = append(b.rule.Body, program.Prefix{Term: b.decided(s), Start: pick(b.rng, []string{"", "a", "ab", "P.", "B.", "1"}), Position: b.rule.Position})
	}
}

// counted returns the arguments of a counted atom: besides what may be open in
// any, variables that only the atom has, now and then the same one twice.
func (b *ruleMaker) counted(before int, open func(sort) program.Term) func(sort) program.Term {
	return func(s sort) program.Term {
		switch {
		case !b.one(3):
			return open(s)
		case len(b.rule.Slots) > before && b.one(3):
			return program.Term{Form: program.Variable, Slot: program.Slot(before)}
		}
		return b.fresh(s)
	}
}

// closeAtom makes variables that only this atom has anonymous, since nothing
// binds them.
func closeAtom(a *program.Atom, before int) {
	for i, t := range a.Args {
		if t.Form == program.Variable && int(t.Slot) >= before {
			a.Args[i] = program.Term{}
		}
	}
}

func (b *ruleMaker) compare(op program.Operator, form program.OperandForm, s sort) {
	b.rule.Body = append(b.rule.Body, program.Compare{
		Operator: op, Position: b.rule.Position,
		Left:  program.Operand{Form: form, Term: b.decided(s)},
		Right: program.Operand{Form: form, Term: b.decided(s)},
	})
}
