//go:build unix && !(darwin || dragonfly || freebsd || netbsd || openbsd)

package cmd

import (
	"os"
	"syscall"
)

// progressSignals ask for one progress line.
func progressSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }
