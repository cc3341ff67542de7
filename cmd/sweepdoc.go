package cmd

import (
	"fmt"
	"io"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

// moduleBody is what one policy retains.
type moduleBody struct {
	File     string    `json:"file"`
	Digest   string    `json:"digest"`
	Retained countBody `json:"retained"`
	Only     countBody `json:"only"` // what no other policy retains
	costBody
}

// sweepDocument is the result of sweep.
type sweepDocument struct {
	head
	Boundary   uint64       `json:"boundary"`
	Retained   countBody    `json:"retained"`
	Removed    countBody    `json:"removed"`
	KeptDigest string       `json:"kept_digest"`
	SavedKept  string       `json:"saved_kept,omitempty"`
	Modules    []moduleBody `json:"modules"`
	Groups     []groupBody  `json:"groups"`
	// Explanations are documented in docs/explain.md.
	Explanations []explain.Record `json:"explanations,omitempty"`
	// Postings are the lists that the store made for the sweep.
	Postings *postingsBody `json:"postings,omitempty"`
	list     *recordList   // nil: not asked for
	verbose  bool          // the text has the cost of every window
}

func totalBody(t tally.Total) countBody {
	return countBody{Records: t.Records, Bytes: t.Bytes, DataBytes: &t.DataBytes}
}

func (d *sweepDocument) text(w io.Writer) {
	fmt.Fprintf(w, "%s: a compaction would retain %s of %s records\n", ui.Quote(d.Root), ui.Count(d.Retained.Records), ui.Count(d.Boundary))
	line := func(what string, c countBody) {
		fmt.Fprintf(w, "  %-13s %12s records  %s, %s of data\n", what, ui.Count(c.Records), ui.Size(c.Bytes), ui.Size(*c.DataBytes))
	}
	if d.Retained.DataBytes != nil {
		line("would stay", d.Retained)
		line("would go", d.Removed)
	}
	for _, m := range d.Modules {
		line("by policy", m.Retained)
		line("by it alone", m.Only)
		m.costBody.text(w, m.File, d.verbose)
	}
	fmt.Fprintf(w, "  %-13s %s\n", "kept digest", d.KeptDigest)
	if d.SavedKept != "" {
		fmt.Fprintf(w, "  %-13s %s\n", "saved to", ui.Quote(d.SavedKept))
	}
	groupsText(w, d.Groups)
	d.explanations(w)
	d.list.text(w)
}
