package ui

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
)

// streamed is a document with a list.
type streamed struct {
	Name  string `json:"name"`
	items iter.Seq[any]
}

func (s *streamed) Stream() (string, iter.Seq[any]) { return "items", s.items }

func anys(texts ...string) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, t := range texts {
			if !yield(map[string]string{"t": t}) {
				return
			}
		}
	}
}

func TestWriteJSONStreams(t *testing.T) {
	for name, c := range map[string]struct {
		items iter.Seq[any]
		want  string
	}{
		"no list":    {nil, "{\n  \"name\": \"n\"\n}\n"},
		"empty list": {anys(), "{\n  \"name\": \"n\",\n  \"items\": [\n  ]\n}\n"},
		"list":       {anys("a", "b"), "{\n  \"name\": \"n\",\n  \"items\": [\n    {\"t\":\"a\"},\n    {\"t\":\"b\"}\n  ]\n}\n"},
		"hidden":     {anys("\u009b"), "{\n  \"name\": \"n\",\n  \"items\": [\n    {\"t\":\"\\u009b\"}\n  ]\n}\n"},
	} {
		var out strings.Builder
		if err := WriteJSON(&out, &streamed{Name: "n", items: c.items}); err != nil || out.String() != c.want {
			t.Errorf("%s: %q (%v), want %q", name, out.String(), err, c.want)
		}
		if !json.Valid([]byte(out.String())) {
			t.Errorf("%s: no JSON: %s", name, out.String())
		}
	}
}

// closed takes nothing.
type closed struct{ calls int }

var errClosed = errors.New("closed")

func (c *closed) Write([]byte) (int, error) { c.calls++; return 0, errClosed }

// A reader that went away ends the list.
func TestWriteJSONStopsAtAnError(t *testing.T) {
	w := &closed{}
	taken := 0
	items := func(yield func(any) bool) {
		for taken < 1_000_000 && yield(taken) {
			taken++
		}
	}
	if err := WriteJSON(w, &streamed{Name: "n", items: items}); !errors.Is(err, errClosed) {
		t.Errorf("%v, want %v", err, errClosed)
	}
	if taken > 10_000 || w.calls != 1 {
		t.Errorf("%d items and %d writes after the error", taken, w.calls)
	}
}
