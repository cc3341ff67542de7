package cmd

import (
	"errors"
	"io"
	"time"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
)

// Outcomes of a run, as JSON documents carry them.
const (
	outcomeDone        = "done"
	outcomeResumed     = "resumed"
	outcomeNothingToDo = "nothing-to-do"
	outcomeSkipped     = "skipped"
	outcomeStopped     = "stopped"
	outcomeRefused     = "refused"
	outcomeFailed      = "failed"
)

// head is what every JSON document begins with.
type head struct {
	Schema  string     `json:"schema"`
	Root    string     `json:"root,omitempty"`
	Profile string     `json:"profile,omitempty"`
	Outcome string     `json:"outcome"`
	Error   *errorBody `json:"error,omitempty"`
	// Both are RFC 3339, in UTC.
	StartedAt string `json:"started_at"`
	EndedAt   string `json:"ended_at"`
}

// errorBody is the error of a document.
type errorBody struct {
	Kind     string `json:"kind"`
	Message  string `json:"message"`
	ExitCode int    `json:"exit_code"`
	Hint     string `json:"hint,omitempty"`
}

// document is the result of a command: it renders itself as text, or is
// written as JSON as it stands.
type document interface {
	text(w io.Writer)
	fail(err error)
	stamp(began, ended time.Time)
}

func newHead(command, root string) head {
	return head{Schema: "lace." + command + "/1", Root: root, Outcome: outcomeDone}
}

// stamp says when the run was.
func (h *head) stamp(began, ended time.Time) {
	h.StartedAt, h.EndedAt = began.UTC().Format(time.RFC3339Nano), ended.UTC().Format(time.RFC3339Nano)
}

// fail records the error and the outcome that goes with it.
func (h *head) fail(err error) {
	code := exitCode(err)
	h.Error = &errorBody{Kind: errorKind(err), Message: err.Error(), ExitCode: code, Hint: hintOf(err)}
	switch code {
	case exitStopped:
		h.Outcome = outcomeStopped
	case exitNotWorth:
		h.Outcome = outcomeSkipped
	case exitFailed, exitCorrupt, exitDamage:
		h.Outcome = outcomeFailed
	default:
		h.Outcome = outcomeRefused
	}
}

// errorKind is the stable name of what went wrong.
func errorKind(err error) string {
	var e *store.Error
	var k store.Kind
	var p *policyError
	var v *verdict
	switch {
	case errors.As(err, &v) && v.code == exitDamage:
		return "damage"
	case errors.As(err, &v) && v.code == exitUnformatted:
		return "unformatted"
	case errors.As(err, &v):
		return "not-worth-it"
	case errors.As(err, &p):
		return "policy"
	case isUsage(err):
		return "usage"
	case errors.As(err, &e) && e.Kind == store.Store && e.Reason != 0:
		return e.Reason.Error()
	case errors.As(err, &e):
		return e.Kind.Error()
	case errors.As(err, &k):
		return k.Error()
	case exitCode(err) == exitStopped:
		return store.Interrupted.Error()
	case exitCode(err) == exitLimit:
		return store.LimitExceeded.Error()
	}
	return "internal"
}

// emit writes the result of a command to stdout: the document in JSON mode,
// the text otherwise. A run that failed has no text: half a result would read
// like one. The error of the run goes on to Main. That stdout was closed early
// changes no verdict; another write error is one.
func (s *session) emit(doc document, err error) error {
	s.progress.Close()
	if doc == nil {
		return err
	}
	if s.global.json {
		if err != nil {
			doc.fail(err)
		}
		doc.stamp(s.began, s.now())
		s.emitted = true
		return errors.Join(err, stdoutError(ui.WriteJSON(s.streams.Out, doc)))
	}
	var judged *verdict
	if s.global.quiet || err != nil && !errors.As(err, &judged) {
		return err
	}
	out := &stickyWriter{w: s.streams.Out}
	doc.text(out)
	return errors.Join(err, stdoutError(out.err))
}
