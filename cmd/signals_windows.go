package cmd

import "os"

// progressSignals are none: Windows has no signal that a program may define.
func progressSignals() []os.Signal { return nil }
