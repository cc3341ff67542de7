package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

// compactOptions are the flags of lace compact.
type compactOptions struct {
	keep        keepOptions
	guards      guardOptions
	lock        lockOptions
	pace        paceOptions
	finish      finishOptions
	journalSize sizeFlag
	carry       carryOptions
	discard     bool
}

// carryOptions are the flags of both commands that finish a compaction.
type carryOptions struct{ damaged bool }

func (o *carryOptions) addFlags(c *cobra.Command) {
	c.Flags().BoolVar(&o.damaged, "carry-damaged", false, "resume although a record was damaged before it was to move; it moves as it is")
}

func newCompactCommand(s *session) *cobra.Command {
	o := &compactOptions{journalSize: sizeFlag{bytes: compact.DefaultJournalSize}}
	c := &cobra.Command{
		Use:   "compact ROOT (--policy FILE... | --kept FILE)",
		Short: "Remove what no policy retains, in place",
		Long: `Compact decides with the policies which records of ROOT stay, or takes what a
preview decided (sweep --save-kept) and applies exactly that. It moves them
together in place, and gives the freed bytes back to the file system. A root
whose compaction was interrupted is finished instead, without looking at the
policies or guards. Nothing is ever asked: a guard that refuses says why and
exits 15.`,
		Example: "  lace compact /srv/lace --policy keep.lace --policy legal.lace",
		Args:    rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc := newCompactDocument("compact", args[0])
			return o.finish.around(c.Context(), s, o.lock, doc, func(ctx context.Context) error { return o.run(ctx, s, doc) })
		},
	}
	o.finish.addFlags(c)
	o.keep.addFlags(c)
	o.guards.addFlags(c)
	o.lock.addFlags(c)
	o.pace.addFlags(c)
	o.carry.addFlags(c)
	c.Flags().BoolVar(&o.discard, "discard-unlisted", false, "go on although whole records lie behind the end of record-log, and release them")
	c.Flags().Var(&o.journalSize, "journal-size", "most bytes of a batch and its journal, at least one maximum record")
	return c
}

func (o *compactOptions) run(ctx context.Context, s *session, doc *compactDocument) (err error) {
	keeper, err := o.keep.open(s, doc.Root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keeper.close()) }()
	if err := o.validate(); err != nil {
		return err
	}
	at, err := s.locate(doc.Root, o.lock)
	if err != nil {
		return err
	}
	var totals *tally.Split
	choose := func(ctx context.Context, b store.Backend) (*kept.Set, error) {
		set, _, err := keeper.decide(ctx, b.(profile.Store))
		if err != nil {
			return nil, err
		}
		report, err := s.tally(ctx, b, set, tally.Options{})
		if err != nil {
			return nil, err
		}
		totals = &report.All
		return set, nil
	}
	report, err := at.profile.Compact(ctx, at.dir, profile.CompactOptions{
		Open:            o.lock.openOptions(s),
		JournalSize:     o.journalSize.bytes,
		Approve:         s.loggingPlan(o.guards.approve(doc.Root)),
		DiscardUnlisted: o.discard,
		Run:             s.runOptions(o.carry, o.pace),
	}, choose)
	doc.fill(at, report, totals)
	if errors.Is(err, errNotWorth) {
		doc.Outcome = outcomeSkipped
		return nil
	}
	return s.nextStep(err, doc.Root, at.dir)
}

func (o *compactOptions) validate() error {
	if o.journalSize.bytes < compact.MinJournalSize {
		return &usageError{fmt.Errorf("--journal-size %d: want at least %d, one maximum record", o.journalSize.bytes, compact.MinJournalSize)}
	}
	return o.guards.validate()
}

// resumeOptions are the flags of lace resume.
type resumeOptions struct {
	lock   lockOptions
	pace   paceOptions
	finish finishOptions
	carry  carryOptions
}

func newResumeCommand(s *session) *cobra.Command {
	o := &resumeOptions{}
	c := &cobra.Command{
		Use:   "resume ROOT",
		Short: "Finish an interrupted compaction",
		Long: `Resume finishes the compaction that an earlier run of ROOT left unfinished.
It needs no policy: what stays was decided before the first byte moved. On a
root without an unfinished compaction there is nothing to do.`,
		Args: rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc := newCompactDocument("resume", args[0])
			return o.finish.around(c.Context(), s, o.lock, doc, func(ctx context.Context) error { return o.run(ctx, s, doc) })
		},
	}
	o.finish.addFlags(c)
	o.lock.addFlags(c)
	o.pace.addFlags(c)
	o.carry.addFlags(c)
	return c
}

func (o *resumeOptions) run(ctx context.Context, s *session, doc *compactDocument) error {
	at, err := s.locate(doc.Root, o.lock)
	if err != nil {
		return err
	}
	report, err := at.profile.Resume(ctx, at.dir, profile.CompactOptions{
		Open: o.lock.openOptions(s),
		Run:  s.runOptions(o.carry, o.pace),
	})
	doc.fill(at, report, nil)
	return s.nextStep(err, doc.Root, at.dir)
}

// runOptions say how the steps of a compaction run. The display is told of each
// phase as it begins, and then what is counted of it.
func (s *session) runOptions(carry carryOptions, pace paceOptions) compact.Options {
	return compact.Options{
		Phase:        s.progress.Enter,
		Progress:     func(p compact.Progress) { s.progress.Update(p.Phase, p.Done, p.Total, p.Unit) },
		CarryDamaged: carry.damaged,
		IOLimit:      pace.limit.perSecond,
	}
}
