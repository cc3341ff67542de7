package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

// Kinds of groups. A record may have the text (none) as a value, so that the
// kind tells what a group is.
const (
	groupValue = "value"
	groupNone  = "none"
	groupOther = "other"
)

// groupBody is what stays and goes of the records with one value of a field,
// without the field, or with any value that has no group of its own.
type groupBody struct {
	By       string    `json:"by"`
	Kind     string    `json:"kind"`
	Value    string    `json:"value"`
	Values   uint64    `json:"values,omitempty"`      // of kind other: distinct ones
	More     bool      `json:"more_values,omitempty"` // of kind other: and more that were not told apart
	Retained countBody `json:"retained"`
	Removed  countBody `json:"removed"`
}

// fields lists what is grouped by, :Type first.
func (o *sweepCommandOptions) fields() []string {
	fields := []string{fact.TypeField}
	for _, f := range o.groupBy {
		if !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	return fields
}

// checkField refuses what can be no name of a field.
func checkField(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case name == fact.TypeField || name == fact.LengthField:
	case strings.ContainsAny(name, ": \t"):
		return fmt.Errorf("%q: no record has such a field; a name has no colon and no space, but %s and %s are fields", name, fact.TypeField, fact.LengthField)
	}
	return nil
}

// tally adds up what a kept set retains and removes.
func (s *session) tally(ctx context.Context, b store.Backend, set *kept.Set, o tally.Options) (*tally.Report, error) {
	all := uint64(set.Boundary())
	s.progress.Enter("count")
	o.Step = func(done store.Position) error {
		s.progress.Update("count", uint64(done), all, "records")
		if err := ctx.Err(); err != nil {
			return &store.Error{Kind: store.Interrupted, Doing: "sweep", Found: "stopped; nothing was changed", Err: err}
		}
		return nil
	}
	report, err := tally.Count(b, set, o)
	if err == nil {
		s.progress.Update("count", all, all, "records")
	}
	return report, err
}

func groupBodies(groups []tally.Group) []groupBody {
	bodies := []groupBody{}
	add := func(b groupBody, s tally.Split) {
		b.Retained, b.Removed = totalBody(s.Retained), totalBody(s.Removed)
		bodies = append(bodies, b)
	}
	for _, g := range groups {
		for _, v := range g.Values {
			add(groupBody{By: g.Field, Kind: groupValue, Value: v.Value}, v.Split)
		}
		if g.None != (tally.Split{}) {
			add(groupBody{By: g.Field, Kind: groupNone, Value: "(none)"}, g.None)
		}
		if g.Other.Values > 0 || g.Other.More {
			add(groupBody{By: g.Field, Kind: groupOther, Value: "(other)", Values: g.Other.Values, More: g.Other.More}, g.Other.Split)
		}
	}
	return bodies
}

// label is how text names the group: a value that could be taken for
// something else is quoted.
func (g groupBody) label() string {
	switch {
	case g.Kind == groupOther && g.More:
		return fmt.Sprintf("%s %s values and more", g.Value, ui.Count(g.Values))
	case g.Kind == groupOther:
		return fmt.Sprintf("%s %s values", g.Value, ui.Count(g.Values))
	case g.Kind == groupNone:
		return g.Value
	case strings.HasPrefix(g.Value, "(") || strings.Contains(g.Value, "  "):
		return strconv.Quote(g.Value)
	}
	return ui.Quote(g.Value)
}

// groupsText writes a table for each field. Write errors stay with w, which
// the caller asks.
func groupsText(w io.Writer, groups []groupBody) {
	for len(groups) > 0 {
		n := 1
		for n < len(groups) && groups[n].By == groups[0].By {
			n++
		}
		fmt.Fprintf(w, "  by %s\n", ui.Quote(groups[0].By))
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(table, "\t  stay\tbytes\t  go\tbytes\t  value\n")
		for _, g := range groups[:n] {
			fmt.Fprintf(table, "\t%s\t%s\t%s\t%s\t  %s\n", ui.Count(g.Retained.Records), ui.Size(g.Retained.Bytes), ui.Count(g.Removed.Records), ui.Size(g.Removed.Bytes), g.label())
		}
		_ = table.Flush() // the error is in w
		groups = groups[n:]
	}
}
