package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/sweep"
)

// keepOptions say what a run keeps: what policies select, or what a preview
// decided before.
type keepOptions struct {
	policies policyOptions
	kept     string
}

func (o *keepOptions) addFlags(c *cobra.Command) {
	o.policies.addFlags(c)
	c.Flags().StringVar(&o.kept, "kept", "", "keep what this `FILE` of sweep --save-kept says, instead of asking policies")
}

// given reports whether anything says what is kept.
func (o *keepOptions) given() bool {
	return o.kept != "" || len(o.policies.files) > 0 || len(o.policies.params) > 0
}

// keeper decides what a root keeps.
type keeper struct {
	s        *session
	o        *keepOptions
	root     string
	prepared *policy.Prepared // nil: a file says it
	file     *keptFile        // nil: the policies say it
}

// open prepares the policies, or opens the kept file, before the root is
// touched. The caller closes the keeper.
func (o *keepOptions) open(s *session, root string) (*keeper, error) {
	k := &keeper{s: s, o: o, root: root}
	var err error
	switch {
	case o.kept == "":
		k.prepared, err = o.policies.prepare(s)
	case len(o.policies.files) > 0 || len(o.policies.params) > 0:
		err = &usageError{errors.New("--kept takes the place of --policy and --param: a run has either")}
	case len(o.policies.evaluation()) > 0:
		err = &usageError{fmt.Errorf("--kept asks no policies, so nothing comes of %s: leave it out", strings.Join(o.policies.evaluation(), " and "))}
	default:
		k.file, err = openKept(s.fs, o.kept)
	}
	return k, err
}

func (k *keeper) close() error {
	if k.file == nil {
		return nil
	}
	return k.file.f.Close()
}

// decide returns the kept set of an open root, and what the sweep found; nil
// when there was none because a file says what to keep.
func (k *keeper) decide(ctx context.Context, b profile.Store) (*kept.Set, *sweep.Result, error) {
	if k.file != nil {
		set, err := k.file.set(k.root, b.Table())
		return set, nil, err
	}
	k.s.progress.Enter("sweep")
	result, err := sweep.Run(ctx, b, k.prepared, k.o.policies.sweepOptions(k.s))
	if err != nil {
		return nil, nil, err
	}
	return result.Kept, result, nil
}
