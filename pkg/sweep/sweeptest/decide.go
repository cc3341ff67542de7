package sweeptest

import (
	"fmt"

	"github.com/lace-store/lace/pkg/policy/program"
)

// decided returns a term that is known once everything is bound.
func (b *ruleMaker) decided(s sort) program.Term {
	if t, ok := b.bound(s); ok && !b.one(4) {
		return t
	}
	return b.constant(s)
}

// decide adds a literal that binds nothing.
func (b *ruleMaker) decide() {
	op := program.Operator(1 + b.rng.IntN(6))
	switch n := b.rng.IntN(12); {
	case n < 3:
		b.negate()
	case n < 5 && b.cardinality:
		b.count(op)
	case n < 7:
		b.compare(op, program.AdmitOrder, recs)
	case n < 8:
		b.compare(op, program.Number, texts)
	case n < 10:
		b.compare(op, program.PlainText, sort(b.rng.IntN(2)))
	default:
		s := sort(b.rng.IntN(2))
		b.add(program.Prefix{Term: b.decided(s), Start: pick(b.rng, []string{"", "a", "ab", "P.", "B.", "1", b.hash()[:8]})})
	}
}

// complete returns an atom over facts or a helper of a complete stratum.
func (b *ruleMaker) complete(argument func(sort) program.Term) program.Atom {
	if len(b.lower) > 0 && !b.one(3) {
		return b.helperAtom(pick(b.rng, b.lower), argument)
	}
	return b.baseAtom(argument)
}

func (b *ruleMaker) negate() {
	before := len(b.sorts)
	a := b.complete(func(s sort) program.Term {
		if b.one(2) {
			return program.Term{}
		}
		return b.decided(s)
	})
	b.hide(before)
	// Nothing binds a variable that only this atom has.
	for i, t := range a.Args {
		if t.Form == program.Variable && int(t.Slot) >= before {
			a.Args[i] = program.Term{}
		}
	}
	b.add(program.Negated{Atom: a})
}

// count compares how often an atom holds, with variables of its own, also
// repeated ones.
func (b *ruleMaker) count(op program.Operator) {
	before := len(b.sorts)
	a := b.complete(func(s sort) program.Term {
		switch b.rng.IntN(8) {
		case 0, 1, 2:
			return program.Term{}
		case 3:
			return b.fresh(s)
		case 4:
			if own := len(b.sorts) - before; own > 0 {
				return program.Term{Form: program.Variable, Slot: program.Slot(before + b.rng.IntN(own))}
			}
		}
		return b.decided(s)
	})
	b.hide(before)
	n := fmt.Sprint(b.rng.IntN(4))
	if b.one(30) {
		n = "18446744073709551617"
	}
	b.add(program.Cardinality{Atom: a, Operator: op, Count: n})
}

// hide makes the variables from a slot on local to the atom just made.
func (b *ruleMaker) hide(from int) {
	for slot := from; slot < len(b.sorts); slot++ {
		b.sorts[slot] = local
	}
}

func (b *ruleMaker) compare(op program.Operator, form program.OperandForm, s sort) {
	left, right := b.decided(s), b.decided(s)
	if form == program.Number && !b.one(4) {
		left, right = b.number(), b.number()
	}
	b.add(program.Compare{Operator: op, Left: program.Operand{Form: form, Term: left}, Right: program.Operand{Form: form, Term: right}})
}

// number returns a number, a length mostly: few of the other terms are any.
func (b *ruleMaker) number() program.Term {
	owner, ok := b.bound(recs)
	if !ok || b.one(3) {
		return program.Term{Form: program.Constant, Text: fmt.Sprint(b.rng.IntN(150))}
	}
	n := b.fresh(texts)
	b.call(fieldID, owner, program.Term{Form: program.Constant, Text: ":Length"}, program.Term{}, n)
	return n
}
