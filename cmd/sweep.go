package cmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/sweep"
)

// sweepCommandOptions are the flags of lace sweep.
type sweepCommandOptions struct {
	policies    policyOptions
	lock        lockOptions
	dryRun      bool
	minReleased string
	list        string
}

func newSweepCommand(s *session) *cobra.Command {
	o := &sweepCommandOptions{}
	c := &cobra.Command{
		Use:   "sweep ROOT --policy FILE... --dry-run",
		Short: "Preview what would stay and what would go",
		Long: `Sweep evaluates the policies as compact does and says what a compaction would
retain and remove. It writes nothing, and works on a read-only mount.`,
		Args: rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(c.Context(), s, args[0])
			return s.emit(doc, err)
		},
	}
	o.policies.addFlags(c)
	o.lock.addFlags(c)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say that this is a preview; required")
	c.Flags().StringVar(&o.minReleased, "min-released", "", "exit 17 when less than this `SIZE|P%` would be released")
	c.Flags().StringVar(&o.list, "list", "", "list the `retained or removed` records, a line each")
	return c
}

// moduleBody is what one policy retains.
type moduleBody struct {
	File     string    `json:"file"`
	Digest   string    `json:"digest"`
	Retained countBody `json:"retained"`
	Work     workBody  `json:"work"`
}

type workBody struct {
	Used    uint64 `json:"used"`
	Allowed uint64 `json:"allowed"`
}

// recordBody is one record of a list.
type recordBody struct {
	ID   uint64 `json:"id"`
	Hash string `json:"hash"`
}

type sweepDocument struct {
	head
	Boundary   uint64       `json:"boundary"`
	Retained   countBody    `json:"retained"`
	Removed    countBody    `json:"removed"`
	KeptDigest string       `json:"kept_digest"`
	Modules    []moduleBody `json:"modules"`
	Records    []recordBody `json:"records,omitempty"`
	list       string
}

func (o *sweepCommandOptions) validate() error {
	switch {
	case !o.dryRun:
		return &usageError{errors.New("sweep only previews: say --dry-run (lace compact removes)")}
	case o.list != "" && o.list != "retained" && o.list != "removed":
		return &usageError{fmt.Errorf("--list %q: want retained or removed", o.list)}
	}
	if o.minReleased != "" {
		if _, err := amount(o.minReleased, 0, ui.ParseSize); err != nil {
			return &usageError{fmt.Errorf("--min-released: %w", err)}
		}
	}
	return nil
}

func (o *sweepCommandOptions) run(ctx context.Context, s *session, root string) (document, error) {
	doc := &sweepDocument{head: newHead("sweep", root), Modules: []moduleBody{}, list: o.list}
	if err := o.validate(); err != nil {
		return doc, err
	}
	prepared, err := o.policies.prepare(s)
	if err != nil {
		return doc, err
	}
	dir, err := s.resolveRoot(root, o.lock)
	if err != nil {
		return doc, err
	}
	open := o.lock.openOptions(s)
	open.ReadOnly = true
	b, err := native.Open(ctx, dir, open)
	if err != nil {
		return doc, err
	}
	doc.Profile = "native"
	err = mmap.Guard(func() error {
		result, err := sweep.Run(ctx, b, prepared, o.policies.sweepOptions(s))
		if err != nil {
			return err
		}
		return doc.fill(ctx, s, b, prepared, result)
	})
	if err = errors.Join(err, b.Close()); err != nil {
		return doc, err
	}
	return doc, o.judge(doc)
}

// judge is the probe of --min-released.
func (o *sweepCommandOptions) judge(doc *sweepDocument) error {
	if o.minReleased == "" {
		return nil
	}
	least, err := amount(o.minReleased, doc.Retained.Bytes+doc.Removed.Bytes, ui.ParseSize)
	if err != nil {
		return &usageError{err}
	}
	if doc.Removed.Bytes < least {
		return &verdict{exitNotWorth, fmt.Sprintf("not worth it: %d bytes would be released, --min-released is %d", doc.Removed.Bytes, least)}
	}
	return nil
}

func (d *sweepDocument) fill(ctx context.Context, s *session, b *native.Store, p *policy.Prepared, r *sweep.Result) error {
	totals, err := s.tally(ctx, b, r.Kept)
	if err != nil {
		return err
	}
	plan, err := compact.NewPlan(b.Table(), r.Kept, compact.DefaultJournalSize)
	if err != nil {
		return err
	}
	d.Boundary = uint64(r.Report.Boundary)
	d.Retained, d.Removed = totalBody(totals.retained), totalBody(totals.removed)
	d.KeptDigest = hex.EncodeToString(plan.Digest[:])
	for i, m := range r.Report.Modules {
		of, err := s.tally(ctx, b, m.Kept)
		if err != nil {
			return err
		}
		work := workBody{Allowed: m.WorkAllowed}
		for _, w := range m.Windows {
			work.Used = max(work.Used, w.Work)
		}
		d.Modules = append(d.Modules, moduleBody{m.File, hex.EncodeToString(p.Modules[i].Digest[:]), totalBody(of.retained), work})
	}
	if d.list != "" {
		for i := range uint64(r.Report.Boundary) {
			if id := idOf(i); r.Kept.Has(id) == (d.list == "retained") {
				d.Records = append(d.Records, recordBody{uint64(id), b.Table().Hash(id).String()})
			}
		}
	}
	return nil
}

func totalBody(t kept.Total) countBody {
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
		fmt.Fprintf(w, "  %-13s %s (work %s of %s)\n", "", ui.Quote(m.File), ui.Count(m.Work.Used), ui.Count(m.Work.Allowed))
	}
	fmt.Fprintf(w, "  %-13s %s\n", "kept digest", d.KeptDigest)
	for _, r := range d.Records {
		fmt.Fprintf(w, "#%d %s\n", r.ID, r.Hash)
	}
}
