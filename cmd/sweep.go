package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
)

// sweepCommandOptions are the flags of lace sweep.
type sweepCommandOptions struct {
	keep        keepOptions
	lock        lockOptions
	dryRun      bool
	saveKept    string
	minReleased string
	list        string
	groupBy     []string
	explain     explainOptions
}

func newSweepCommand(s *session) *cobra.Command {
	o := &sweepCommandOptions{}
	c := &cobra.Command{
		Use:   "sweep ROOT (--policy FILE... | --kept FILE) (--dry-run | --save-kept FILE)",
		Short: "Preview what would stay and what would go",
		Long: `Sweep evaluates the policies as compact does and says what a compaction would
retain and remove. It writes nothing into the root, and works on a read-only
mount. --save-kept writes the decision to a file of its own, which compact --kept
applies exactly, as long as the root has not changed.`,
		Args: rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(c.Context(), s, args[0])
			return s.emit(doc, err)
		},
	}
	o.keep.addFlags(c)
	o.lock.addFlags(c)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say that this is a preview; required without --save-kept")
	c.Flags().StringVar(&o.saveKept, "save-kept", "", "write what stays to this `FILE` outside of the root, for compact --kept")
	c.Flags().StringVar(&o.minReleased, "min-released", "", "exit 17 when less than this `SIZE|P%` would be released")
	o.explain.addFlags(c)
	c.Flags().StringArrayVar(&o.groupBy, "group-by", nil, "count by the values of this `FIELD` (a header, or :Type, which is always there); repeat for more")
	c.Flags().StringVar(&o.list, "list", "", "list the `retained or removed` records, a line each")
	return c
}

func (o *sweepCommandOptions) validate() error {
	switch {
	case !o.dryRun && o.saveKept == "":
		return &usageError{errors.New("sweep only previews: say --dry-run or --save-kept FILE (lace compact removes)")}
	case o.saveKept != "" && o.keep.kept != "":
		return &usageError{errors.New("--save-kept and --kept: what is applied from a file is saved already")}
	case len(o.explain.records) > 0 && o.keep.kept != "":
		return &usageError{errors.New("--explain and --kept: a kept file does not say why; explain with the policies")}
	case o.list != "" && o.list != listRetained && o.list != listRemoved:
		return &usageError{fmt.Errorf("--list %q: want %s or %s", o.list, listRetained, listRemoved)}
	}
	for _, field := range o.groupBy {
		if err := checkField(field); err != nil {
			return &usageError{fmt.Errorf("--group-by %w", err)}
		}
	}
	if o.minReleased != "" {
		if _, err := amount(o.minReleased, 0, ui.ParseSize); err != nil {
			return &usageError{fmt.Errorf("--min-released: %w", err)}
		}
	}
	return nil
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
