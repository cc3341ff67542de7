//go:build !linux

package cmd

import "errors"

// setIdleIO is for Linux alone: elsewhere a process has no class of disk
// access of its own, or needs a call for each open file.
func setIdleIO() error { return errors.ErrUnsupported }
