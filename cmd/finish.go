package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/verify"
)

// finishOptions are what compact and resume have in common around their run.
type finishOptions struct {
	deadline deadlineOption
	verify   bool
	metrics  string
}

func (o *finishOptions) addFlags(c *cobra.Command) {
	o.deadline.addFlag(c, "leaving a root that lace resume finishes")
	c.Flags().BoolVar(&o.verify, "verify", false, "prove the full hash of every retained record afterwards")
	c.Flags().StringVar(&o.metrics, "metrics-file", "", "write the outcome to this `FILE` for a Prometheus textfile collector")
}

// around does a run within the deadline, what comes behind it, and the output.
func (o *finishOptions) around(ctx context.Context, s *session, lock lockOptions, doc *compactDocument, run func(context.Context) error) error {
	began := s.now()
	limited, cancel, err := o.deadline.limit(ctx)
	if err != nil {
		return s.emit(doc, err)
	}
	defer cancel()
	if err := o.checkPlace(doc.Root); err != nil {
		return s.emit(doc, err)
	}
	err = run(limited)
	if err == nil && o.verify {
		doc.Verified, err = s.verifyAfter(limited, doc.Root, lock)
	}
	if o.metrics != "" {
		if failed := s.writeMetrics(o.metrics, doc, exitCode(err), began); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return s.emit(doc, err)
}

// checkPlace refuses a metrics file that could not be written later, before
// anything is changed. A root that cannot be resolved has no inside.
func (o *finishOptions) checkPlace(root string) error {
	dir, err := filepath.EvalSymlinks(root)
	if err != nil {
		dir = root
	}
	return outside(dir, o.metrics)
}

// verifiedBody is what a compaction proved behind its end.
type verifiedBody struct {
	Records uint64 `json:"records"`
	Bytes   uint64 `json:"bytes"`
	Bad     uint64 `json:"bad"`
}

// verifyAfter proves the hashes of the root that a compaction left.
func (s *session) verifyAfter(ctx context.Context, root string, lock lockOptions) (*verifiedBody, error) {
	at, err := s.locate(root, lock)
	if err != nil {
		return nil, err
	}
	x, err := at.examine(ctx, lock.openOptions(s))
	if err != nil {
		return nil, err
	}
	s.progress.Enter("verify")
	report, err := verify.Root(ctx, x.Input(), verify.Options{
		Level:    verify.Hashes,
		Progress: func(done, total uint64) { s.progress.Update("verify", done, total, "bytes") },
	})
	err = errors.Join(err, x.Close())
	if errors.Is(err, store.Interrupted) {
		err = &store.Error{Kind: store.Interrupted, Hint: "nothing is left to resume; lace verify " + root, Err: err}
	}
	if err != nil {
		return nil, err
	}
	body := &verifiedBody{report.Records, report.Bytes, uint64(len(report.Bad)) + report.Unlisted}
	if body.Bad > 0 {
		first := report.Bad[0]
		return body, &verdict{exitDamage, fmt.Sprintf("verify %s: damage in %d of %d records, the first is #%d: %s; lace verify %s lists them", root, body.Bad, body.Records, first.ID, first.Problem, root)}
	}
	return body, nil
}
