package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/lace-store/lace/pkg/store/record"
)

// Kind is the closed set of what can go wrong with a root. A Kind is an error
// itself, so that errors.Is(err, store.CorruptStore) asks for one.
type Kind uint8

// The kinds. The command line maps each to one exit code.
const (
	Store         Kind = iota + 1 // an IO failure or a busy root; see Reason
	NotRoot                       // not a Lace root
	CorruptStore                  // committed bytes are not what they must be
	LimitExceeded                 // a bound on rows, work or size was reached
	Integration                   // a caller or a backend broke the contract
	Unsupported                   // this build or file system cannot do it
	NeedsResume                   // an interrupted compaction is in the way
	Interrupted                   // stopped on request; the root is resumable
	Guarded                       // a guard refused what was asked
)

var kindNames = [...]string{
	Store: "store", NotRoot: "not-root", CorruptStore: "corrupt-store",
	LimitExceeded: "limit-exceeded", Integration: "integration",
	Unsupported: "unsupported", NeedsResume: "needs-resume",
	Interrupted: "interrupted", Guarded: "guarded",
}

// Error returns the stable name of the kind, as JSON documents carry it.
func (k Kind) Error() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Reason refines the kind Store. A Reason is an error itself.
type Reason uint8

// The reasons that an operator acts upon differently.
const (
	Busy    Reason = iota + 1 // another owner, or a live mapping of the root
	NoSpace                   // no free bytes, inodes or quota
)

// Error returns the stable name of the reason.
func (r Reason) Error() string {
	switch r {
	case Busy:
		return "busy"
	case NoSpace:
		return "no-space"
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Error says what went wrong, doing what, and where. Fields that do not apply
// are zero. Its text is one line.
type Error struct {
	Kind   Kind
	Reason Reason
	Doing  string // what was being done: "open", "admit", "move batch"
	Root   string // the root directory
	Path   string // the file, when one is concerned
	Where  string // offset, row or key inside the file
	ID     RecordID
	Hash   record.Hash
	Want   string // what was expected
	Found  string // what was there instead
	Hint   string // the next command to type, or what to do
	Err    error  // the cause
}

// Error renders the parts that are set, on one line; Hint is left to the
// command line, which prints it on a line of its own.
func (e *Error) Error() string {
	var b strings.Builder
	add := func(sep, s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
	add("", e.Doing)
	switch {
	case e.Path != "":
		add(" ", e.Path)
	case e.Root != "":
		add(" ", e.Root)
	}
	add(" ", e.Where)
	if e.ID != 0 {
		add(" ", fmt.Sprintf("record #%d", e.ID))
	}
	if !e.Hash.IsZero() {
		add(" ", e.Hash.String())
	}
	what := e.Found
	if e.Want != "" {
		what = strings.TrimPrefix(what+", want "+e.Want, ", ")
	}
	add(": ", what)
	if e.Err != nil {
		add(": ", causeText(e.Err))
	}
	if what == "" && e.Err == nil {
		if e.Reason != 0 {
			add(": ", e.Reason.Error())
		} else {
			add(": ", e.Kind.Error())
		}
	}
	return b.String()
}

// causeText is the text of a cause. That of a context that ended is Go's, and says
// nothing to who asked for the stop.
func causeText(err error) string {
	switch err {
	case context.Canceled:
		return "a stop was asked for"
	case context.DeadlineExceeded:
		return "the time is up"
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches a Kind or a Reason.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case Kind:
		return t == e.Kind
	case Reason:
		return t == e.Reason
	}
	return false
}
