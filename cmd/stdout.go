package cmd

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// stickyWriter remembers its first error, so that rendering code need not
// check every line.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// stdoutError is nil when whoever read stdout has gone away: the run's own
// verdict stands.
func stdoutError(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("write the result to stdout: %w", err)
}
