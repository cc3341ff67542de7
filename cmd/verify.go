package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
)

func idOf(index uint64) store.RecordID { return rowlog.ID(index) }

// verifyOptions are the flags of lace verify.
type verifyOptions struct {
	lock      lockOptions
	deadline  deadlineOption
	choice    choiceOptions
	level     string
	jobs      int
	maxErrors int
	indexes   bool
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
that lace resume will succeed. A large root can be proved in several goes: in
parts, by a random sample, or until a deadline and from there on.`,
		Example: `  lace verify /srv/lace --level seals
  lace verify /srv/lace --subset 3/7
  lace verify /srv/lace --deadline 10m`,
		Args: rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(c.Context(), s, args[0])
			return s.emit(doc, err)
		},
	}
	o.lock.addFlags(c)
	c.Flags().StringVar(&o.level, "level", "hashes", "how deep: rows, glyphs, hashes or seals")
	o.deadline.addFlag(c, "saying where to go on")
	o.choice.addFlags(c)
	c.Flags().IntVar(&o.jobs, "jobs", 0, "records hashed at a time (0: one per processor)")
	c.Flags().IntVar(&o.maxErrors, "max-errors", 0, "list at most `N` bad records and count the others (0: 131,072)")
	c.Flags().BoolVar(&o.indexes, "indexes", false, "compare the posting lists with a scan as well")
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
	Level     string       `json:"level"`
	Checked   countBody    `json:"checked"`
	Bad       []badBody    `json:"bad"`
	TornBytes uint64       `json:"torn_bytes,omitempty"`
	Resumable *bool        `json:"resumable,omitempty"`
	NextFrom  uint64       `json:"next_from,omitempty"`
	Unlisted  uint64       `json:"unlisted,omitempty"` // findings that bad leaves out
	Partial   bool         `json:"partial,omitempty"`  // flags left records out
	Indexes   *indexesBody `json:"indexes,omitempty"`
}

func (o *verifyOptions) run(ctx context.Context, s *session, root string) (document, error) {
	doc := &verifyDocument{head: newHead("verify", root), Level: o.level, Bad: []badBody{}}
	level, err := verify.ParseLevel(o.level)
	if err != nil {
		return doc, &usageError{err}
	}
	opts := verify.Options{
		Level: level, Jobs: o.jobs, MaxBad: o.maxErrors,
		Progress: func(done, total uint64) { s.progress.Update("verify", done, total, "bytes") },
	}
	if err := o.validate(&opts); err != nil {
		return doc, err
	}
	ctx, cancel, err := o.deadline.limit(ctx)
	if err != nil {
		return doc, err
	}
	defer cancel()
	at, err := s.locate(root, o.lock)
	if err != nil {
		return doc, err
	}
	x, err := at.profile.Examine(ctx, at.dir, o.lock.openOptions(s))
	if err != nil {
		return doc, unprovable(err)
	}
	doc.Profile = at.word()
	err = errors.Join(o.examine(ctx, s, doc, x, opts), x.Close())
	// Whoever stops a run early every night must hear of damage all the same.
	if found := doc.verdict(); found != nil && (err == nil || errors.Is(err, store.Interrupted)) {
		return doc, found
	}
	return doc, unprovable(doc.goOn(err))
}

// unprovable is the error of damage that no verification can look behind, and
// which must not send its reader to another one.
func unprovable(err error) error {
	if !errors.Is(err, store.CorruptStore) {
		return err
	}
	return &store.Error{Kind: store.CorruptStore, Hint: "nothing was changed; restore the root from a backup, no command mends this", Err: err}
}

// validate reads the flags into the options and refuses what makes no sense.
func (o *verifyOptions) validate(opts *verify.Options) error {
	if o.maxErrors < 0 {
		return &usageError{fmt.Errorf("--max-errors %d: want a number that is not negative", o.maxErrors)}
	}
	if err := checkJobs(o.jobs, verify.MostJobs); err != nil {
		return &usageError{err}
	}
	return o.choice.apply(opts)
}

// goOn adds to the error of a run that was stopped where the next one begins.
func (d *verifyDocument) goOn(err error) error {
	if !errors.Is(err, store.Interrupted) || d.NextFrom == 0 {
		return err
	}
	return &store.Error{Kind: store.Interrupted, Hint: fmt.Sprintf("go on with lace verify %s --from %d and the same other flags", d.Root, d.NextFrom), Err: err}
}

// verdict is the damage that was found, if any.
func (d *verifyDocument) verdict() error {
	if n := uint64(len(d.Bad)) + d.Unlisted; n > 0 {
		message := fmt.Sprintf("verify %s: damage in %d of %d records", d.Root, n, d.Checked.Records)
		if d.Unlisted > 0 { // several findings may be about one record
			message = fmt.Sprintf("verify %s: %d findings of damage in %d records", d.Root, n, d.Checked.Records)
		}
		if d.NextFrom > 0 {
			message += fmt.Sprintf("; stopped early, go on with --from %d", d.NextFrom)
		}
		return &verdict{exitDamage, message}
	}
	if d.Indexes != nil && len(d.Indexes.Bad) > 0 {
		return &verdict{exitDamage, fmt.Sprintf("verify %s: %d of the posting lists are wrong; no record is; delete %s and they are built again", d.Root, len(d.Indexes.Bad), filepath.Join(d.Root, "indexes-v2"))}
	}
	return nil
}

// examine proves a healthy root record by record, and an interrupted one row
// by row of its plan.
func (o *verifyOptions) examine(ctx context.Context, s *session, d *verifyDocument, x profile.Examination, opts verify.Options) error {
	d.TornBytes = x.TornBytes()
	s.progress.Enter("verify")
	if x.Files().State {
		if x.Damage() != nil {
			return x.Damage() // whatever the rows, a resume refuses it
		}
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
	d.Partial = o.choice.given()
	if rows := uint64(x.Input().LogSize / rowlog.RowLen); uint64(opts.From) > max(rows, 1) {
		return &usageError{fmt.Errorf("--from %d: this root has %d records", opts.From, rows)}
	}
	if err := d.records(ctx, x, opts); err != nil || !o.indexes || x.Damage() != nil {
		return err
	}
	s.progress.Enter("indexes")
	var err error
	d.Indexes, err = examineIndexes(ctx, x)
	return err
}

// records proves the records of a root that no compaction was interrupted in.
func (d *verifyDocument) records(ctx context.Context, x profile.Examination, opts verify.Options) error {
	if x.ArenaProblem() != nil {
		d.Bad = append(d.Bad, badBody{Problem: "the arena: " + x.ArenaProblem().Error()})
	}
	report, err := verify.Root(ctx, x.Input(), opts)
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
	case len(d.Bad) == 0 && d.Partial:
		fmt.Fprintln(w, "  no damage in these; the others were not looked at")
	case len(d.Bad) == 0:
		fmt.Fprintln(w, "  no damage")
	}
	if d.Indexes == nil {
		return
	}
	fmt.Fprintf(w, "  %s posting lists compared\n", ui.Count(uint64(d.Indexes.Lists)))
	for _, b := range d.Indexes.Bad {
		fmt.Fprintf(w, "  bad posting list: %s\n", ui.OneLine(b.Problem))
	}
}
