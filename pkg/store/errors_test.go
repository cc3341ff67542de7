package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lace-store/lace/pkg/store"
)

func TestErrorTexts(t *testing.T) {
	stopped := &store.Error{Kind: store.Interrupted, Doing: "compact", Root: "/r", Found: "stopped before row 1 of 2"}
	for _, c := range []struct {
		cause error
		want  string
	}{
		{nil, "compact /r: stopped before row 1 of 2"},
		{context.Canceled, "compact /r: stopped before row 1 of 2: a stop was asked for"},
		{context.DeadlineExceeded, "compact /r: stopped before row 1 of 2: the time is up"},
		{errors.New("because"), "compact /r: stopped before row 1 of 2: because"},
	} {
		e := *stopped
		e.Err = c.cause
		if e.Error() != c.want || !errors.Is(&e, store.Interrupted) || c.cause != nil && !errors.Is(&e, c.cause) {
			t.Errorf("%v, want %s", &e, c.want)
		}
	}
}
