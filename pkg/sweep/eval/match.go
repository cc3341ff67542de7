package eval

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"strconv"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
)

// matcher compares one group with one record at a time. gather visits the
// facts of the record once and copies what the patterns need; match joins the
// patterns with each other and with one binding.
type matcher struct {
	group   *group
	id      store.RecordID
	self    []byte
	parts   [factParts][]byte // of the fact being visited
	digits  []byte            // its index
	scratch []byte
	facts   [][]span // per pattern, then per test: the kept parts of each candidate
	counts  []int    // candidates of each
	locals  [][]byte

	known   [][][]byte // text of each known slot, per binding
	binding int        // the binding at hand

	// keyed, unless nil, says which bindings a match is for, by the texts of
	// the locals in keys; otherwise it is for the binding at hand.
	keyed map[string][]int32
	keys  []int
	key   []byte

	done  *doneSet
	found func() error // takes the match at hand
}

// span is a text in scratch.
type span struct{ from, to uint32 }

// doneSet counts the matches of bindings that need no more than enough.
type doneSet struct {
	counts []uint64
	enough uint64 // at least 1
	left   int    // bindings that need more
	passed bool   // the block was handed on already
	charge *meter // is told of every match, if not nil
}

func newDoneSet(n int, enough uint64) *doneSet {
	return &doneSet{counts: make([]uint64, n), enough: enough, left: n}
}

func (d *doneSet) has(i int) bool { return d != nil && d.counts[i] >= d.enough }

func (d *doneSet) all() bool { return d != nil && d.left == 0 }

func (d *doneSet) add(i int) error {
	if d.counts[i]++; d.counts[i] == d.enough {
		d.left--
	}
	if d.charge == nil {
		return nil
	}
	return d.charge.spend(1)
}

func newMatcher(g *group) *matcher {
	n := len(g.patterns) + len(g.tests)
	return &matcher{group: g, facts: make([][]span, n), counts: make([]int, n), locals: make([][]byte, g.locals), known: make([][][]byte, len(g.known))}
}

// gather collects the facts of a record that may match.
func (m *matcher) gather(rec store.Record) error {
	m.id, m.self = rec.ID, append(m.self[:0], rec.Hash[:]...)
	m.scratch = m.scratch[:0]
	for i := range m.facts {
		m.facts[i], m.counts[i] = m.facts[i][:0], 0
	}
	if len(m.facts) == 0 {
		return nil
	}
	if err := checkGlyph(rec); err != nil {
		return err
	}
	err := fact.Visit(rec.Bytes, m)
	runtime.KeepAlive(rec.Owner)
	if err != nil {
		return &store.Error{Kind: store.CorruptStore, Doing: "read record", ID: rec.ID, Hash: rec.Hash, Err: err}
	}
	return nil
}

// Field implements fact.Visitor.
func (m *matcher) Field(name []byte, index int, value []byte) bool {
	m.parts[namePart], m.parts[textPart] = name, value
	m.offer(fieldFact, index)
	return m.wanted()
}

// Link implements fact.Visitor.
func (m *matcher) Link(name []byte, index int, data, target []byte) bool {
	m.parts[namePart], m.parts[textPart], m.parts[targetPart] = name, data, target
	m.offer(linkFact, index)
	return m.wanted()
}

// Contains implements fact.Visitor.
func (m *matcher) Contains(contained []byte) bool {
	m.parts[targetPart] = contained
	m.offer(containsFact, 0)
	return m.wanted()
}

// wanted reports whether more facts can matter: while only the existence of
// facts is asked for, one of each kind is enough.
func (m *matcher) wanted() bool {
	return !m.group.existential || slices.Contains(m.counts, 0)
}

// offer keeps the fact in parts for every pattern whose constants it has.
func (m *matcher) offer(kind factKind, index int) {
	for i := range m.facts {
		p := m.group.at(i)
		if p.kind != kind {
			continue
		}
		if name := &p.parts[namePart]; name.form == constant && string(name.text) != string(m.parts[namePart]) {
			continue
		}
		m.offerTo(i, p, index)
	}
}

// offerTo decides about everything but the name.
func (m *matcher) offerTo(i int, p *pattern, index int) {
	if p.parts[indexPart].form != anyText {
		m.digits = strconv.AppendInt(m.digits[:0], int64(index), 10)
		m.parts[indexPart] = m.digits
	}
	for part := indexPart; part < factParts; part++ {
		if arg := &p.parts[part]; arg.form == constant && string(arg.text) != string(m.parts[part]) {
			return
		}
	}
	m.counts[i]++
	for _, part := range p.kept {
		from := len(m.scratch)
		m.scratch = append(m.scratch, m.parts[part]...)
		m.facts[i] = append(m.facts[i], span{uint32(from), uint32(len(m.scratch))})
	}
}

// match joins the patterns from depth on, and reports whether there was a
// match. Once the binding needs no more, or nothing that is still to be joined
// can bind an output, the first match ends the search.
func (m *matcher) match(depth int) (bool, error) {
	if depth == len(m.group.patterns) {
		return m.complete()
	}
	matched := false
	for i := range m.counts[depth] {
		if !m.unify(depth, &m.group.patterns[depth], i) {
			continue
		}
		ok, err := m.match(depth + 1)
		if err != nil {
			return false, err
		}
		matched = matched || ok
		if matched && (depth >= m.group.tail || m.keyed == nil && m.done.has(m.binding)) {
			break
		}
	}
	return matched, nil
}

// unify compares candidate i of a pattern, binding the locals it meets first.
func (m *matcher) unify(at int, p *pattern, i int) bool {
	spans := m.facts[at][i*len(p.kept):]
	for k, part := range p.kept {
		text := m.scratch[spans[k].from:spans[k].to]
		arg := &p.parts[part]
		if arg.form == newLocal {
			m.locals[arg.n] = text
		} else if !bytes.Equal(text, m.textOf(arg)) {
			return false
		}
	}
	return true
}

// textOf returns the text that an argument stands for in the match at hand.
func (m *matcher) textOf(arg *argument) []byte {
	switch arg.form {
	case constant:
		return arg.text
	case selfText:
		return m.self
	case knownText:
		return m.known[arg.n][m.binding]
	}
	return m.locals[arg.n]
}

// complete hands a match of all patterns to the bindings it is for.
func (m *matcher) complete() (bool, error) {
	if m.keyed == nil {
		return m.accept()
	}
	m.key = m.key[:0]
	for _, local := range m.keys {
		m.key = appendKey(m.key, m.locals[local])
	}
	matched := false
	for _, i := range m.keyed[string(m.key)] {
		m.binding = int(i)
		if m.done.has(m.binding) {
			continue
		}
		ok, err := m.accept()
		if err != nil {
			return false, err
		}
		matched = matched || ok
	}
	return matched, nil
}

// appendKey appends a text so that different sequences of texts have different
// keys.
func appendKey(key, text []byte) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

// accept decides the checks and tests for the binding at hand.
func (m *matcher) accept() (bool, error) {
	for i := range m.group.checks {
		if !m.holds(&m.group.checks[i]) {
			return false, nil
		}
	}
	for i := range m.group.tests {
		if !m.passes(i) {
			return false, nil
		}
	}
	return true, m.found()
}

// passes decides a test by the facts that match it, as many as matter. A test
// of Have has no kind: its owner is held.
func (m *matcher) passes(i int) bool {
	t, at := &m.group.tests[i], len(m.group.patterns)+i
	enough, count := uint64(1), uint64(0)
	if t.count != nil {
		enough = t.count.enough
	}
	if t.kind == 0 {
		count = 1
	}
	for k := 0; k < m.counts[at] && count < enough; k++ {
		if m.unify(at, t, k) {
			count++
		}
	}
	if t.count != nil {
		return t.count.holds(count)
	}
	return count == 0
}

func (m *matcher) holds(c *check) bool {
	left, right := m.textOf(&c.left), m.textOf(&c.right)
	if c.prefix {
		return bytes.HasPrefix(left, right)
	}
	return compareTexts(c.form, c.operator, left, right)
}

// compareTexts decides a comparison of texts or, in the form Number, of
// canonical numbers; what is no number rejects.
func compareTexts(form program.OperandForm, op program.Operator, left, right []byte) bool {
	if form == program.Number {
		if !isNumber(left) || !isNumber(right) {
			return false
		}
		return op.Holds(compareNumbers(left, right))
	}
	return op.Holds(bytes.Compare(left, right))
}

// isNumber reports whether text is a canonical unsigned decimal.
func isNumber(text []byte) bool {
	if len(text) == 0 || len(text) > 1 && text[0] == '0' {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// compareNumbers orders canonical decimals of any size.
func compareNumbers(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}
