package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// The values of --io-class.
const (
	ioIdle   = "idle"
	ioNormal = "normal"
)

// ioClassOption is the flag of the commands that read or write much. In the
// idle class the disk serves everybody else first.
type ioClassOption struct{ class string }

func (o *ioClassOption) addFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.class, "io-class", ioIdle, "let everybody else use the disk first (idle), where the system can, or not (normal)")
}

// apply puts this process into the class. It is a courtesy: that a system has
// none ends no run, and only -v tells.
func (o *ioClassOption) apply(s *session) error {
	if !slices.Contains([]string{ioIdle, ioNormal}, o.class) {
		return &usageError{fmt.Errorf("--io-class %q: want %s or %s", o.class, ioIdle, ioNormal)}
	}
	if o.class == ioNormal || s.idle {
		return nil
	}
	s.idle = true
	if err := setIdleIO(); err != nil {
		s.log.Detailf("the idle class of disk access is not to be had: %v", err)
		return nil
	}
	s.log.Detailf("disk access is in the idle class: everybody else goes first")
	return nil
}
