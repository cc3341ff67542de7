package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
)

func idOf(index uint64) store.RecordID { return rowlog.ID(index) }

// verifyOptions are the flags of lace verify.
type verifyOptions struct {
	lock  lockOptions
	level string
	jobs  int
}

func newVerifyCommand(s *session) *cobra.Command {
	o := &verifyOptions{}
	c := &cobra.Command{
		Use:   "verify ROOT",
		Short: "Prove the root sound, as deep as asked",
		Long: `Verify proves every record: its row in the record-log (rows), its glyph line
(glyphs), its full typed hash (hashes), or every rule of the format and the
mark of every Seal (seals). It goes on past damage, lists every bad record,
changes nothing, and exits 3 when there is damage. On a root whose compaction
was interrupted it proves that every retained record can still be found, so
that lace resume will succeed.`,
		Args: rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(c.Context(), s, args[0])
			return s.emit(doc, err)
		},
	}
	o.lock.addFlags(c)
	c.Flags().StringVar(&o.level, "level", "hashes", "how deep: rows, glyphs, hashes or seals")
	c.Flags().IntVar(&o.jobs, "jobs", 0, "records hashed at a time (0: one per processor)")
	return c
}

// badBody is one record that is not what its row says.
type badBody struct {
	ID      uint64 `json:"id"`
	Hash    string `json:"hash"`
	Offset  uint64 `json:"offset"`
	Problem string `json:"problem"`
}

type verifyDocument struct {
	head
	Level     string    `json:"level"`
	Checked   countBody `json:"checked"`
	Bad       []badBody `json:"bad"`
	TornBytes uint64    `json:"torn_bytes,omitempty"`
	Resumable *bool     `json:"resumable,omitempty"`
	NextFrom  uint64    `json:"next_from,omitempty"`
	Unlisted  uint64    `json:"unlisted,omitempty"` // findings that bad leaves out
}

func (o *verifyOptions) run(ctx context.Context, s *session, root string) (document, error) {
	doc := &verifyDocument{head: newHead("verify", root), Level: o.level, Bad: []badBody{}}
	level, err := verify.ParseLevel(o.level)
	if err != nil {
		return doc, &usageError{err}
	}
	dir, err := s.resolveRoot(root, o.lock)
	if err != nil {
		return doc, err
	}
	x, err := native.ExamineDamaged(ctx, dir, o.lock.openOptions(s))
	if err != nil {
		return doc, err
	}
	doc.Profile = "native"
	err = errors.Join(doc.examine(ctx, s, x, verify.Options{
		Level: level, Jobs: o.jobs,
		Progress: func(done, total uint64) { s.progress.Update("verify", done, total, "bytes") },
	}), x.Close())
	if err != nil {
		return doc, err
	}
	if n := uint64(len(doc.Bad)) + doc.Unlisted; n > 0 {
		return doc, &verdict{exitDamage, fmt.Sprintf("verify %s: damage in %d of %d records", root, n, doc.Checked.Records)}
	}
	return doc, nil
}

// examine proves a healthy root record by record, and an interrupted one row
// by row of its plan.
func (d *verifyDocument) examine(ctx context.Context, s *session, x *native.Examination, opts verify.Options) error {
	d.TornBytes = x.TornBytes
	if x.Interrupted() {
		proof, err := x.Prove(ctx, opts.Progress)
		if err != nil {
			return err
		}
		d.Level = "hashes"
		d.Checked = countBody{Records: proof.Rows, Bytes: proof.Bytes}
		resumable := len(proof.Lost) == 0
		d.Resumable = &resumable
		for _, l := range proof.Lost {
			d.Bad = append(d.Bad, badBody{uint64(l.Row) + 1, l.Hash.String(), l.OffsetOld, "neither its old place, nor its new place, nor the journal holds this record"})
		}
		return nil
	}
	if x.CapacityProblem != nil {
		d.Bad = append(d.Bad, badBody{Problem: "the arena: " + x.CapacityProblem.Error()})
	}
	in := verify.Input{Log: x.Log, LogSize: x.LogSize, Arena: x.Arena, Capacity: x.Capacity}
	report, err := verify.Root(ctx, in, opts)
	d.Checked = countBody{Records: report.Records, Bytes: report.Bytes}
	d.NextFrom, d.Unlisted = uint64(report.NextFrom), report.Unlisted
	for _, b := range report.Bad {
		hash := ""
		if !b.Hash.IsZero() {
			hash = b.Hash.String()
		}
		d.Bad = append(d.Bad, badBody{uint64(b.ID), hash, b.Offset, b.Problem})
	}
	return err
}

func (d *verifyDocument) text(w io.Writer) {
	fmt.Fprintf(w, "%s: verified %s records, %s, at level %s\n", ui.Quote(d.Root), ui.Count(d.Checked.Records), ui.Size(d.Checked.Bytes), d.Level)
	for _, b := range d.Bad {
		fmt.Fprintf(w, "  bad record #%d %s at offset %d: %s\n", b.ID, b.Hash, b.Offset, ui.OneLine(b.Problem))
	}
	if d.Unlisted > 0 {
		fmt.Fprintf(w, "  and %s more\n", ui.Count(d.Unlisted))
	}
	if d.TornBytes > 0 {
		fmt.Fprintf(w, "  a torn last row of %d bytes was never admitted; the next writer cuts it off\n", d.TornBytes)
	}
	switch {
	case d.Resumable != nil && *d.Resumable:
		fmt.Fprintf(w, "  a compaction was interrupted; every retained record is there: lace resume %s\n", ui.Quote(d.Root))
	case d.Resumable != nil:
		fmt.Fprintln(w, "  a compaction was interrupted, and lace resume will refuse the rows above")
	case len(d.Bad) == 0:
		fmt.Fprintln(w, "  no damage")
	}
}
