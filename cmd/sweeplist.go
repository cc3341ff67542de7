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
	set      *kept.Set
	table    *rowlog.Table // outlives its store
}

func (l *recordList) all() iter.Seq[recordBody] {
	return func(yield func(recordBody) bool) {
		for i := range uint64(l.set.Boundary()) {
			id := idOf(i)
			if l.set.Has(id) != l.retained {
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
	if d.list == nil {
		return "", nil
	}
	return "records", func(yield func(any) bool) {
		for r := range d.list.all() {
			if !yield(r) {
				return
			}
		}
	}
}
