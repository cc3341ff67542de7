package cmd

import (
	"errors"
	"strings"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs"
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

// hintOf returns what to do next: what is to be done about the file system
// first, if its error tells, and what the error itself says. It is empty when
// neither says anything.
func hintOf(err error) string {
	hint, remedy := hintIn(err), vfs.Remedy(err)
	switch {
	case remedy == "" || strings.Contains(hint, remedy):
		return hint
	case hint == "":
		return remedy
	}
	return remedy + "; " + hint
}

// hintIn is the outermost hint of the errors that have one.
func hintIn(err error) string {
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

// nextStep adds to the error of a compaction, or of a resume, that does not say
// what to do next whether the root in dir waits for a resume.
func (s *session) nextStep(err error, root, dir string) error {
	var failed *store.Error
	if !errors.As(err, &failed) || hintIn(err) != "" {
		return err
	}
	stopped := errors.Is(err, store.Interrupted)
	if !stopped && !errors.Is(err, store.Store) {
		return err
	}
	files, lookErr := compact.Look(s.fs, dir)
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	e := &store.Error{Kind: failed.Kind, Reason: failed.Reason, Err: err}
	switch {
	case files.State || !stopped && files.Any():
		e.Hint = "nothing was lost; lace resume " + root
	case stopped:
		e.Hint = "nothing was changed; run it again"
	default:
		return err
	}
	return e
}
