package cmd

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// The values of --list.
const (
	listRetained = "retained"
	listRemoved  = "removed"
)

// recordBody is one record of a list.
type recordBody struct {
	ID    uint64 `json:"id"`
	Hash  string `json:"hash"`
	Bytes uint64 `json:"bytes"`
}

// recordList is the records that stay, or those that go. They are made while
// they are written, because a root may have more of them than memory should.
type recordList struct {
	retained bool
	set      *kept.Set     // nil lists all rows of the table
	table    *rowlog.Table // outlives its store
}

func (l *recordList) all() iter.Seq[recordBody] {
	return func(yield func(recordBody) bool) {
		boundary := l.table.Position()
		if l.set != nil {
			boundary = l.set.Boundary()
		}
		for i := range uint64(boundary) {
			id := idOf(i)
			if l.set != nil && l.set.Has(id) != l.retained {
				continue
			}
			if row := l.table.Row(id); !yield(recordBody{uint64(id), row.Hash.String(), row.Len}) {
				return
			}
		}
	}
}

// text writes a line for each record. Write errors stay with w, which the
// caller asks.
func (l *recordList) text(w io.Writer) {
	if l == nil {
		return
	}
	out := bufio.NewWriter(w)
	for r := range l.all() {
		if _, err := fmt.Fprintf(out, "#%d %s %d\n", r.ID, r.Hash, r.Bytes); err != nil {
			return
		}
	}
	_ = out.Flush() // the error is in w
}

var _ ui.Streamed = (*sweepDocument)(nil)

// Stream implements ui.Streamed: the list is the last field.
func (d *sweepDocument) Stream() (field string, items iter.Seq[any]) {
	return "records", d.list.stream()
}

// stream is the list as a document has it; nil without a list.
func (l *recordList) stream() iter.Seq[any] {
	if l == nil {
		return nil
	}
	return func(yield func(any) bool) {
		for r := range l.all() {
			if !yield(r) {
				return
			}
		}
	}
}
