package sweeptest

import (
	"math"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

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

func (b *ruleMaker) index(argument func(sort) program.Term) program.Term {
	switch b.rng.IntN(16) {
	case 0:
		return program.Term{Form: program.Constant, Text: pick(b.rng, []string{"0", "1"})}
	case 1:
		return argument(texts)
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
		return program.Atom{Predicate: linkID, Args: []program.Term{argument(recs), b.name(linkNames), b.index(argument), argument(texts), argument(recs)}}
	}
	names := append([]string{":Type", ":Length", "Name", "By", "TAI"}, slices.Concat(fieldNames, fieldNames, fieldNames, linkNames)...)
	return program.Atom{Predicate: fieldID, Args: []program.Term{argument(recs), b.name(names), b.index(argument), argument(valueSort)}}
}

func (b *ruleMaker) helperAtom(id program.PredicateID, argument func(sort) program.Term) program.Atom {
	a := program.Atom{Predicate: id}
	constants := b.one(3)
	asked, always := b.asked[id]
	always = always && slices.Contains(b.lower, id)
	for i, s := range b.columns(id) {
		if always && i == asked || constants && b.one(2) {
			a.Args = append(a.Args, b.constant(s))
			continue
		}
		a.Args = append(a.Args, argument(s))
	}
	return a
}

// positive adds a literal that binds.
func (b *ruleMaker) positive() {
	callable := slices.Concat(b.lower, b.current)
	switch {
	case b.one(8):
		b.topK()
	case len(callable) > 0 && b.one(2):
		b.add(program.Positive{Atom: b.helperAtom(pick(b.rng, callable), b.argument)})
	default:
		b.add(program.Positive{Atom: b.baseAtom(b.argument)})
	}
}

// topK ranks a helper of a lower stratum or the facts of records.
func (b *ruleMaker) topK() {
	argument := func(s sort) program.Term {
		switch {
		case b.one(5):
			return b.argument(s)
		case len(b.used) > 0 && b.one(12):
			return program.Term{Form: program.Variable, Slot: pick(b.rng, b.used)}
		}
		return b.fresh(s)
	}
	var a program.Atom
	if len(b.lower) > 0 && !b.one(3) {
		a = b.helperAtom(pick(b.rng, b.lower), argument)
	} else {
		a = b.baseAtom(argument)
	}
	slots := variables(a)
	if len(slots) == 0 {
		b.add(program.Positive{Atom: a})
		return
	}
	order := pick(b.rng, slots)
	form := b.orderOf(order)
	if last := a.Args[len(a.Args)-1]; a.Predicate == fieldID && a.Args[1].Form != program.Variable && last.Form == program.Variable && b.one(2) {
		// A length is a number; few other values are.
		a.Args[1] = program.Term{Form: program.Constant, Text: ":Length"}
		order, form = last.Slot, program.Number
	}
	lit := program.TopK{Atom: a, Descending: b.one(2), K: uint64(1 + b.rng.IntN(3))}
	lit.Order = program.Operand{Form: form, Term: program.Term{Form: program.Variable, Slot: order}}
	if b.one(30) {
		lit.K = math.MaxUint64
	}
	for _, s := range slots {
		if b.one(3) {
			lit.Partition = append(lit.Partition, s)
		}
	}
	b.add(lit)
}

// variables returns the variables of an atom, each once.
func variables(a program.Atom) (slots []program.Slot) {
	for _, t := range a.Args {
		if t.Form == program.Variable && !slices.Contains(slots, t.Slot) {
			slots = append(slots, t.Slot)
		}
	}
	return slots
}

// orderOf is mostly how values of such a variable are ordered.
func (b *ruleMaker) orderOf(s program.Slot) program.OperandForm {
	switch {
	case b.one(12):
		return program.OperandForm(b.rng.IntN(3))
	case b.sorts[s] == recs:
		return pick(b.rng, []program.OperandForm{program.PlainText, program.AdmitOrder, program.AdmitOrder})
	}
	return pick(b.rng, []program.OperandForm{program.PlainText, program.Number})
}

// equal adds a comparison that may bind, or a chain of two.
func (b *ruleMaker) equal() {
	s := sort(b.rng.IntN(2))
	other := b.constant(s)
	if t, ok := b.bound(s); ok && b.one(2) {
		other = t
	}
	for {
		left, right := b.fresh(s), other
		other = left
		if b.one(2) {
			left, right = right, left
		}
		b.add(program.Compare{Operator: program.Equal, Left: program.Operand{Term: left}, Right: program.Operand{Term: right}})
		if !b.one(4) {
			return
		}
	}
}

// headTerm returns a term of the head, which it makes the body bind.
func (b *ruleMaker) headTerm(s sort) program.Term {
	if b.one(12) {
		return b.constant(s)
	}
	if t, ok := b.bound(s); ok {
		return t
	}
	t := b.fresh(s)
	if s == recs {
		b.call(haveID, t)
		return t
	}
	owner, ok := b.bound(recs)
	if !ok {
		owner = b.fresh(recs)
	}
	b.call(fieldID, owner, program.Term{Form: program.Constant, Text: pick(b.rng, fieldNames)}, program.Term{}, t)
	return t
}
