package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// deadlineOption is the flag of every command that may be told to stop after
// some time, as a signal would stop it.
type deadlineOption struct{ after time.Duration }

func (o *deadlineOption) addFlag(c *cobra.Command, what string) {
	c.Flags().DurationVar(&o.after, "deadline", 0, "stop after this time, "+what+" (exit 75)")
}

// limit returns the context that ends at the deadline, if one was given.
func (o *deadlineOption) limit(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if o.after < 0 {
		return nil, nil, &usageError{fmt.Errorf("--deadline %s is negative", o.after)}
	}
	if o.after == 0 {
		return ctx, func() {}, nil
	}
	limited, cancel := context.WithTimeout(ctx, o.after)
	return limited, cancel, nil
}
