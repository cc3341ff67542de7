package sweeptest

import "github.com/lace-store/lace/pkg/policy/program"

// The shapes of recursion that chance alone makes too seldom. Each has gaps
// that are filled at random.

// seed adds a rule without recursion.
func (g *generator) seed(id program.PredicateID) {
	current := g.current
	g.current = nil
	g.randomRule(id)
	g.current = current
}

// step adds the links from one record to the next, mostly.
func (b *ruleMaker) step(from, to program.Term) {
	switch {
	case b.one(5):
		b.call(containsID, from, to)
	case b.one(6):
		t := b.fresh(texts)
		b.call(fieldID, from, b.name(fieldNames), program.Term{}, t)
		b.call(fieldID, to, b.name(fieldNames), program.Term{}, t)
	default:
		b.call(linkID, from, b.name(linkNames), program.Term{}, program.Term{}, to)
	}
	if b.one(3) {
		b.call(haveID, to)
	}
	if b.one(4) {
		b.decide()
	}
}

// closure is linear: h(T) :- h(R), a step from R to T.
func (g *generator) closure() {
	id := g.helper(recs)
	g.seed(id)
	b := &ruleMaker{generator: g}
	from, to := b.fresh(recs), b.fresh(recs)
	b.call(id, from)
	if g.one(2) {
		b.step(from, to)
	} else {
		b.step(to, from)
	}
	b.finish(id, to)
}

// transitive is not linear: h(x,z) :- h(x,y), h(y,z).
func (g *generator) transitive() {
	id := g.helper(recs, recs)
	b := &ruleMaker{generator: g}
	from, to := b.fresh(recs), b.fresh(recs)
	b.step(from, to)
	b.finish(id, from, to)
	b = &ruleMaker{generator: g}
	x, y, z := b.fresh(recs), b.fresh(recs), b.fresh(recs)
	b.call(id, x, y)
	b.call(id, y, z)
	if g.one(4) {
		b.decide()
	}
	b.finish(id, x, z)
}

// alternating is mutual: each of two helpers is the other one step further.
func (g *generator) alternating() {
	even, odd := g.helper(recs), g.helper(recs)
	g.seed(even)
	for _, pair := range [][2]program.PredicateID{{even, odd}, {odd, even}} {
		b := &ruleMaker{generator: g}
		from, to := b.fresh(recs), b.fresh(recs)
		b.call(pair[0], from)
		b.step(from, to)
		b.finish(pair[1], to)
	}
}

// labelled is a closure that carries a text along, unchanged or not.
func (g *generator) labelled() {
	id := g.helper(recs, texts)
	g.seed(id)
	b := &ruleMaker{generator: g}
	from, to, label := b.fresh(recs), b.fresh(recs), b.fresh(texts)
	b.call(id, from, label)
	b.step(from, to)
	next := label
	if g.one(3) {
		next = b.fresh(texts)
		b.call(fieldID, to, b.name(fieldNames), program.Term{}, next)
	}
	b.finish(id, to, next)
}
