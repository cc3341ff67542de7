package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// recordDocument is one record.
type recordDocument struct {
	head
	ID     uint64     `json:"id"`
	Hash   string     `json:"hash"`
	Offset uint64     `json:"offset"`
	Bytes  uint64     `json:"bytes"`
	Facts  []factBody `json:"facts"`
	facts  []fact.Fact
}

// factBody is one fact about the record; what its predicate lacks is left out.
type factBody struct {
	Predicate string `json:"predicate"`
	Name      string `json:"name,omitempty"`
	Index     int    `json:"index"`
	Value     string `json:"value,omitempty"`
	Data      string `json:"data,omitempty"`
	Target    string `json:"target,omitempty"`
}

func newFactBody(f fact.Fact) factBody {
	name, _, _ := strings.Cut(f.String(), "(")
	return factBody{name, f.Name, f.Index, f.Value, f.Data, f.Target}
}

func (d *recordDocument) text(w io.Writer) {
	fmt.Fprintf(w, "#%d %s\n  offset %d, %s\n", d.ID, d.Hash, d.Offset, ui.Size(d.Bytes))
	for _, f := range d.facts {
		fmt.Fprintf(w, "  %s\n", ui.OneLine(f.String()))
	}
}

// record prints one record.
func (o *inspectOptions) record(ctx context.Context, s *session, name, which string) error {
	doc := &recordDocument{head: newHead("inspect", name), Facts: []factBody{}}
	at, err := s.locate(name, o.lock)
	if err != nil {
		return s.emit(doc, err)
	}
	x, err := at.examine(ctx, o.lock.openOptions(s))
	if err != nil {
		return s.emit(doc, err)
	}
	b, err := doc.load(x, which)
	doc.Profile = at.word()
	if err = errors.Join(err, x.Close()); err != nil {
		return s.emit(doc, err)
	}
	if o.bytes {
		_, err := s.streams.Out.Write(b)
		s.emitted = true
		return stdoutError(err)
	}
	return s.emit(doc, nil)
}

func (d *recordDocument) load(x profile.Examination, which string) ([]byte, error) {
	if x.Files().State {
		return nil, &store.Error{Kind: store.NeedsResume, Doing: "inspect a record of", Root: d.Root, Found: "a compaction of this root was interrupted", Hint: "lace resume " + d.Root}
	}
	id, err := findRecord(x.Table(), which)
	if err != nil {
		return nil, err
	}
	b, row, err := x.Record(id)
	if err != nil {
		return nil, err
	}
	d.ID, d.Hash, d.Offset, d.Bytes = uint64(id), row.Hash.String(), row.Offset, row.Len
	if d.facts, err = fact.Collect(b); err != nil {
		return nil, &store.Error{Kind: store.CorruptStore, Doing: "inspect", Root: d.Root, ID: id, Hash: row.Hash, Err: err}
	}
	for _, f := range d.facts {
		d.Facts = append(d.Facts, newFactBody(f))
	}
	return b, nil
}

// findRecord finds a record by its hash text or #id.
func findRecord(table *rowlog.Table, which string) (store.RecordID, error) {
	if text, isID := strings.CutPrefix(which, "#"); isID {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 || store.Position(n) > table.Position() {
			return 0, &usageError{fmt.Errorf("record %s: want #1 to #%d", ui.Quote(which), table.Position())}
		}
		return store.RecordID(n), nil
	}
	h, err := record.ParseHash([]byte(which))
	if err != nil {
		return 0, &usageError{fmt.Errorf("record %s is neither a typed hash nor an #id", ui.Quote(which))}
	}
	id, ok := table.Lookup(h)
	if !ok {
		return 0, &usageError{fmt.Errorf("no record %s in this root", h)}
	}
	return id, nil
}
