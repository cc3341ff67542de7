package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
)

// ranking keeps the first k tuples of each partition. Candidates are collected
// in a pool; when that has doubled it is sorted and cut back to the winners,
// so that it never holds more than twice the winners and a constant.
type ranking struct {
	e          *Evaluator
	width      int
	partition  []int // columns
	order      int   // column
	form       program.OperandForm
	descending bool
	k          uint64
	rows       []value
	spare      []value
	limit      int // tuples in the pool before it is cut
}

// rankingPool is the least number of tuples before a pool is cut.
const rankingPool = 1 << 14

func (e *Evaluator) newRanking(lit program.TopK, columns []program.Term) *ranking {
	column := func(slot program.Slot) int {
		return slices.IndexFunc(columns, func(t program.Term) bool { return t.Slot == slot })
	}
	r := &ranking{
		e: e, width: len(columns), order: column(lit.Order.Term.Slot), form: lit.Order.Form,
		descending: lit.Descending, k: lit.K, limit: rankingPool,
	}
	for _, slot := range lit.Partition {
		r.partition = append(r.partition, column(slot))
	}
	return r
}

// add takes a candidate that has a place in the order; others are dropped.
func (r *ranking) add(tuple []value) error {
	v := tuple[r.order]
	switch r.form {
	case program.AdmitOrder:
		if !v.isRecord() {
			return nil
		}
	case program.Number:
		if v.isRecord() || !isNumber(r.e.texts.text(v)) {
			return nil
		}
	}
	r.rows = append(r.rows, tuple...)
	if r.len() < r.limit {
		return nil
	}
	if err := r.cut(); err != nil {
		return err
	}
	r.limit = max(rankingPool, 2*r.len())
	return nil
}

func (r *ranking) len() int { return len(r.rows) / r.width }

func (r *ranking) row(i int32) []value {
	at := int(i) * r.width
	return r.rows[at : at+r.width]
}

// cut sorts the pool and keeps the winners. Only tuples that the order leaves
// equal are compared by their texts.
func (r *ranking) cut() error {
	if r.form == program.PlainText {
		if err := r.nameColumn(r.order, r.rows); err != nil {
			return err
		}
	}
	sorted := make([]int32, r.len())
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, r.compare)
	if err := r.breakTies(sorted); err != nil {
		return err
	}
	winners := r.spare[:0]
	rank := uint64(0)
	for i, n := range sorted {
		if i > 0 && !r.samePartition(sorted[i-1], n) {
			rank = 0
		} else if i > 0 && equalValues(r.row(sorted[i-1]), r.row(n)) {
			continue
		}
		if rank < r.k {
			winners = append(winners, r.row(n)...)
		}
		rank++
	}
	r.rows, r.spare = winners, r.rows
	return nil
}

// nameColumn makes the texts of records in one column available.
func (r *ranking) nameColumn(column int, rows []value) error {
	var values []value
	for at := column; at < len(rows); at += r.width {
		values = append(values, rows[at])
	}
	return r.e.nameRecords(values)
}

// compare orders by partition and rank; tuples of equal rank are equal.
func (r *ranking) compare(a, b int32) int {
	left, right := r.row(a), r.row(b)
	for _, c := range r.partition {
		if c := cmp.Compare(left[c], right[c]); c != 0 {
			return c
		}
	}
	c := r.compareOrder(left[r.order], right[r.order])
	if r.descending {
		return -c
	}
	return c
}

func (r *ranking) compareOrder(a, b value) int {
	switch {
	case a == b:
		return 0
	case r.form == program.AdmitOrder:
		return cmp.Compare(a, b)
	case r.form == program.Number:
		return compareNumbers(r.e.texts.text(a), r.e.texts.text(b))
	}
	return bytes.Compare(r.e.text(a), r.e.text(b))
}

func (r *ranking) samePartition(a, b int32) bool {
	left, right := r.row(a), r.row(b)
	for _, c := range r.partition {
		if left[c] != right[c] {
			return false
		}
	}
	return true
}

// breakTies sorts runs of equal rank component by component, bytewise.
func (r *ranking) breakTies(sorted []int32) error {
	type tie struct{ from, to int }
	var ties []tie
	var records []value
	for from, i := 0, 1; i <= len(sorted); i++ {
		if i < len(sorted) && r.compare(sorted[i-1], sorted[i]) == 0 {
			continue
		}
		if i-from > 1 {
			ties = append(ties, tie{from, i})
			for _, n := range sorted[from:i] {
				records = append(records, r.row(n)...)
			}
		}
		from = i
	}
	if len(ties) == 0 {
		return nil
	}
	if err := r.e.nameRecords(records); err != nil {
		return err
	}
	for _, t := range ties {
		slices.SortFunc(sorted[t.from:t.to], func(a, b int32) int {
			left, right := r.row(a), r.row(b)
			for i := range left {
				if left[i] == right[i] {
					continue
				}
				if c := bytes.Compare(r.e.text(left[i]), r.e.text(right[i])); c != 0 {
					return c
				}
			}
			return 0
		})
	}
	return nil
}

// winners returns the winners of a TopK as a relation over the candidate's
// variables. A candidate is never windowed, so all windows share them.
func (e *Evaluator) winners(rule *program.Rule, lit program.TopK) (*relation, error) {
	key := fmt.Sprint(lit)
	if rel := e.ranked[key]; rel != nil {
		return rel, nil
	}
	rel, err := e.rank(rule, lit)
	e.ranked[key] = rel
	return rel, err
}

// rankShared ranks for the rules of the window at hand, so that the texts of
// winners outlive it.
func (e *Evaluator) rankShared() error {
	for i := range e.program.Rules {
		rule := &e.program.Rules[i]
		for _, lit := range rule.Body {
			if topK, ok := lit.(program.TopK); ok {
				e.enter(rule)
				if _, err := e.winners(rule, topK); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// rank ranks the candidate of a TopK.
func (e *Evaluator) rank(rule *program.Rule, lit program.TopK) (*relation, error) {
	columns := distinctVariables(lit.Atom)
	ranking := e.newRanking(lit, columns)
	candidate := &program.Rule{
		Head:  program.Atom{Predicate: rule.Head.Predicate, Args: columns},
		Body:  []program.Literal{program.Positive{Atom: lit.Atom, Position: lit.Position}},
		Slots: rule.Slots, Position: rule.Position, Text: rule.Text,
	}
	tuple := make([]value, len(columns))
	err := e.derive(candidate, nil, -1, func(row []value) error {
		for i, t := range columns {
			tuple[i] = row[t.Slot]
		}
		return ranking.add(tuple)
	})
	if err != nil {
		return nil, err
	}
	if err := ranking.cut(); err != nil {
		return nil, err
	}
	name := "TopK of " + e.program.NameOf(lit.Atom.Predicate)
	rel := newRelation(name, len(columns))
	for i := range ranking.len() {
		if rel.add(ranking.row(int32(i))); uint64(rel.len()) > e.meter.rows {
			return nil, e.meter.tooMany(name, rel.len())
		}
	}
	return rel, nil
}
