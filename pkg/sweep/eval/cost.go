package eval

import (
	"math"

	"github.com/lace-store/lace/pkg/policy/program"
)

// What part of the records in its range a constraint is expected to leave.
// Only the order of these figures matters.
const (
	exactShare  = 1.0 / 16
	prefixShare = 1.0 / 8
	namedShare  = 1.0 / 4
	targetShare = 1.0 / 1024
)

// apart makes what shares no variable with the bindings come after what does.
const apart = 1 << 20

// relationCost estimates how many tuples meet one binding. The relation is
// complete, or it is recursive and its size is unknown.
func (p *planner) relationCost(r *relationItem) float64 {
	size := float64(r.rel.len())
	if p.e.growing[r.rel] {
		size = max(size, float64(p.e.boundary))
	}
	bound, shared := 0, false
	for _, t := range r.args {
		switch {
		case t.Form == program.Constant:
			bound++
		case t.Form == program.Variable && p.bound[t.Slot]:
			bound++
			shared = true
		}
	}
	switch {
	case bound == len(r.args):
		return 1.0 / 2
	case bound > 0:
		size = math.Pow(size, 1-float64(bound)/float64(len(r.args)))
	}
	return p.separate(size, shared)
}

// groupCost estimates how many matches of a group meet one binding.
func (p *planner) groupCost(g *groupItem) float64 {
	if g.owner.Form == program.Constant || g.owner.Form == program.Variable && p.bound[g.owner.Slot] {
		return 1
	}
	size, shared := float64(g.hi-min(g.lo, g.hi)), false
	for _, a := range g.atoms {
		share, uses := p.atomShare(a)
		size *= share
		shared = shared || uses
	}
	return p.separate(size, shared)
}

// atomShare estimates which part of the records an atom leaves, and whether
// it shares variables with the bindings.
func (p *planner) atomShare(a program.Atom) (share float64, shared bool) {
	known := func(t program.Term) bool {
		if t.Form != program.Variable {
			return t.Form == program.Constant
		}
		shared = shared || p.bound[t.Slot]
		return p.bound[t.Slot]
	}
	switch p.e.program.Predicates[a.Predicate].Base {
	case program.Field:
		name, value := known(a.Args[1]), known(a.Args[3])
		switch {
		case name && value:
			return exactShare, shared
		case name && p.hasPrefix(a.Args[3]):
			return prefixShare, shared
		case name:
			return namedShare, shared
		}
	case program.RecordLink:
		name, data, target := known(a.Args[1]), known(a.Args[3]), known(a.Args[4])
		switch {
		case target:
			return targetShare, shared
		case name && data:
			return exactShare, shared
		case name:
			return namedShare, shared
		}
	case program.ContainsRecord:
		if known(a.Args[1]) {
			return targetShare, shared
		}
	}
	return 1, shared
}

func (p *planner) hasPrefix(t program.Term) bool {
	for _, pre := range p.prefixes {
		if sameTerm(pre.Term, t) {
			return true
		}
	}
	return false
}

func (p *planner) separate(size float64, shared bool) float64 {
	if !shared && p.rows > 1 {
		return size*apart + apart
	}
	return size
}
