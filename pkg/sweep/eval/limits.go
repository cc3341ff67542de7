package eval

import (
	"fmt"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// LimitError says which bound was reached, by which rule of which module, and
// what lifts it. It is a store.LimitExceeded.
type LimitError struct {
	Limit    Limit
	Module   string         // file of the module
	Rule     string         // canonical text of the rule
	Where    string         // its file:line:column
	Relation string         // what the rule derives
	Lower    store.Position // the window (Lower, Upper]
	Upper    store.Position
	Used     uint64
	Allowed  uint64
	Hint     string
}

// Limit names what is bounded.
type Limit uint8

// The limits of an evaluation.
const (
	RelationRows Limit = iota + 1 // derived tuples of one relation
	Work                          // join bindings and record reads of one window
)

// String returns the name as messages have it.
func (l Limit) String() string {
	if l == RelationRows {
		return "rows of relation"
	}
	return "work"
}

// Error is one line; the hint is apart.
func (e *LimitError) Error() string {
	what := e.Limit.String()
	if e.Limit == RelationRows {
		what += " " + e.Relation
	} else {
		what += " for " + e.Relation
	}
	return fmt.Sprintf("%s: limit exceeded: %s reached %d, allowed %d, in window (%d, %d], by the rule %s",
		e.Where, what, e.Used, e.Allowed, e.Lower, e.Upper, e.Rule)
}

// Is matches store.LimitExceeded.
func (e *LimitError) Is(target error) bool { return target == store.LimitExceeded }

// meter counts what an evaluation does, against its limits, and knows for
// whom.
type meter struct {
	module  string
	rows    uint64 // allowed
	allowed uint64
	work    uint64
	reads   uint64
	rule    *program.Rule
	derives string
	lo, hi  store.Position
}

// spend counts join bindings or record reads.
func (m *meter) spend(n uint64) error {
	m.work += n
	if m.work <= m.allowed {
		return nil
	}
	return m.exceeded(Work, m.derives, m.work, m.allowed,
		"narrow the rule; the budget of a window is the records of the root times a constant")
}

// tooMany is the error of a relation over the row cap.
func (m *meter) tooMany(relation string, n int) error {
	return m.exceeded(RelationRows, relation, uint64(n), m.rows,
		"raise the cap with --max-relation-rows, which takes memory, or narrow the rule")
}

func (m *meter) exceeded(l Limit, relation string, used, allowed uint64, hint string) error {
	return &LimitError{
		Limit: l, Module: m.module, Rule: m.rule.Text, Where: m.rule.Position.String(), Relation: relation,
		Lower: m.lo, Upper: m.hi, Used: used, Allowed: allowed, Hint: hint,
	}
}
