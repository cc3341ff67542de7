//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"os"
	"syscall"
)

// progressSignals ask for one progress line. A terminal sends SIGINFO on ^T.
func progressSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1, syscall.SIGINFO} }
