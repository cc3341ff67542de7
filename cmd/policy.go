package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// newPolicyCommand groups the commands that read policies and need no root.
func newPolicyCommand(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Check and format retention policies, without a root",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{errors.New("unknown command " + ui.Quote(args[0]) + " of lace policy" + suggestion(c, args[0]))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newPolicyCheckCommand(s), newPolicyFmtCommand(s))
	return c
}

// policyFiles wraps the positional arguments FILE...
func policyFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &usageError{errors.New(c.CommandPath() + " takes at least one FILE (- is stdin)")}
	}
	return nil
}

// diagnosticBody is one diagnostic of a policy in a document. Line and column
// are one-based and count runes; both are 0 when the file as a whole is meant.
type diagnosticBody struct {
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Text     string `json:"text,omitempty"` // the offending text
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

func diagnosticBodies(severity string, list syntax.List) []diagnosticBody {
	bodies := make([]diagnosticBody, 0, len(list))
	for _, d := range list {
		bodies = append(bodies, diagnosticBody{
			Severity: severity, Code: string(d.Code), File: d.Position.File, Line: d.Position.Line, Column: d.Position.Column,
			Text: d.Text, Message: d.Why, Hint: d.Mend,
		})
	}
	return bodies
}

// diagnosticsOf returns the diagnostics that an error of preparation carries.
func diagnosticsOf(err error) []diagnosticBody {
	var p *policyError
	if !errors.As(err, &p) {
		return []diagnosticBody{}
	}
	return diagnosticBodies("error", p.list)
}

// plural renders a number of things: 1 rule, 2 rules, 3 policies.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
