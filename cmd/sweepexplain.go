package cmd

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/sweep/explain"
)

// explainOptions are the flags that ask why a record stays or goes.
type explainOptions struct {
	records []string
	ids     []store.RecordID // found in the root
}

func (o *explainOptions) addFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.records, "explain", nil, "say why this `RECORD` (its hash, or #id) stays or goes; repeat for more")
}

// find looks the records up, so that a wrong one ends the run before the sweep.
func (o *explainOptions) find(table *rowlog.Table) error {
	for _, which := range o.records {
		id, err := findRecord(table, which)
		if err != nil {
			return err
		}
		if !slices.Contains(o.ids, id) {
			o.ids = append(o.ids, id)
		}
	}
	return nil
}

// explain explains the records that were asked for.
func (p *preview) explain(ctx context.Context) error {
	var err error
	p.doc.Explanations, err = p.result.Explain(ctx, p.b, p.prepared, p.o.explain.ids)
	return err
}

// explanations writes them behind the rest of the text.
func (d *sweepDocument) explanations(w io.Writer) {
	// A write error stays with w, which the caller asks.
	_ = explain.WriteText(w, d.Explanations)
}
