package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/verify"
)

// choiceOptions are the flags that choose which records verify looks at.
type choiceOptions struct {
	from   uint64
	subset string
	sample string
}

func (o *choiceOptions) addFlags(c *cobra.Command) {
	c.Flags().Uint64Var(&o.from, "from", 0, "check records from this `ID` on, where an earlier run stopped")
	c.Flags().StringVar(&o.subset, "subset", "", "check every N-th record, the part `I/N` of the root")
	c.Flags().StringVar(&o.sample, "sample", "", "check this share of the records (`P%`), chosen at random")
}

// apply reads the flags into the options of a verification.
func (o *choiceOptions) apply(to *verify.Options) error {
	to.From = store.RecordID(o.from)
	if o.subset != "" {
		part, parts, ok := strings.Cut(o.subset, "/")
		i, err := strconv.ParseUint(part, 10, 64)
		n, err2 := strconv.ParseUint(parts, 10, 64)
		if !ok || errors.Join(err, err2) != nil || i < 1 || i > n {
			return &usageError{fmt.Errorf("--subset %q is not I/N with 1 <= I <= N", o.subset)}
		}
		to.Subset = verify.Subset{Part: i, Parts: n}
	}
	if o.sample == "" {
		return nil
	}
	percent, ok := strings.CutSuffix(o.sample, "%")
	share, err := strconv.ParseFloat(percent, 64)
	if !ok || err != nil || !(share > 0 && share <= 100) { // NaN is none
		return &usageError{fmt.Errorf("--sample %q is not a percentage above 0%% and up to 100%%", o.sample)}
	}
	to.Sample = verify.Sample{Share: share / 100, Seed: rand.Uint64()}
	return nil
}

// given reports whether some records may be left out.
func (o *choiceOptions) given() bool { return o.from > 1 || o.subset != "" || o.sample != "" }
