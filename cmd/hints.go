package cmd

import (
	"errors"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// errorLines is the text of an error: one line, but one for each mistake of a
// policy.
func errorLines(err error) []string {
	var p *policyError
	if errors.As(err, &p) && len(p.lines) > 0 {
		return p.lines
	}
	return []string{err.Error()}
}

// hintOf returns what the error says to do next, empty when it does not.
func hintOf(err error) string {
	var limit *eval.LimitError
	if errors.As(err, &limit) {
		return limit.Hint
	}
	var e *store.Error
	for errors.As(err, &e) {
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// stopped adds to the error of a compaction that was stopped on request
// whether the root in dir waits for a resume.
func (s *session) stopped(err error, root, dir string) error {
	if !errors.Is(err, store.Interrupted) || hintOf(err) != "" {
		return err
	}
	files, lookErr := compact.Look(s.fs, dir)
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	hint := "nothing was changed; run it again"
	if files.State {
		hint = "nothing was lost; lace resume " + root
	}
	return &store.Error{Kind: store.Interrupted, Hint: hint, Err: err}
}
