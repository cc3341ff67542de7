package cmd

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/specialize"
	"github.com/lace-store/lace/pkg/sweep/window"
)

// policyCheckOptions are the flags of lace policy check.
type policyCheckOptions struct{ params []string }

func newPolicyCheckCommand(s *session) *cobra.Command {
	o := &policyCheckOptions{}
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Prepare policies as a run would, and say all that is wrong with them",
		Long: `Check prepares the policies of one run, each FILE as if it were named with
--policy, and needs no root. It exits 2 when a run would refuse them, and 0
otherwise, also with warnings. All errors of all files are reported at once.
Standard input is named -.

For each policy it prints the digest of its canonical text, the rules that the
selection depends on, and its helpers: a windowed helper is derived for a part
of the root at a time, one of the whole root at once, and the rows of the
latter must stay below --max-relation-rows of the sweep.`,
		Args: policyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(s, args)
			return s.emit(doc, err)
		},
	}
	c.Flags().StringArrayVar(&o.params, "param", nil, "`NAME=VALUE` for Param(NAME, ...), as in a run")
	return c
}

type policyCheckDocument struct {
	head
	Digest      string           `json:"digest,omitempty"` // of the run: policies and parameters
	Modules     []checkedModule  `json:"modules"`
	Diagnostics []diagnosticBody `json:"diagnostics"`
}

// checkedModule is one policy that can be evaluated.
type checkedModule struct {
	File    string          `json:"file"`
	Digest  string          `json:"digest"`
	Selects bool            `json:"selects"`
	Rules   int             `json:"rules"` // those that the selection depends on
	Helpers []checkedHelper `json:"helpers"`
}

// checkedHelper is a helper on which the selection depends.
type checkedHelper struct {
	Name      string `json:"name"`
	Arity     int    `json:"arity"`
	Rules     int    `json:"rules"`
	Recursive bool   `json:"recursive"`
	Scope     string `json:"scope"` // windowed or whole-root
}

func (o *policyCheckOptions) run(s *session, files []string) (document, error) {
	doc := &policyCheckDocument{head: newHead("policy-check", ""), Modules: []checkedModule{}, Diagnostics: []diagnosticBody{}}
	params, err := parseParams(o.params, s)
	if err != nil {
		return doc, &usageError{err}
	}
	sources, err := s.readPolicies(files)
	if err != nil {
		return doc, err
	}
	prepared, err := preparePolicies(sources, params)
	if err != nil {
		doc.Diagnostics = diagnosticsOf(err)
		return doc, err
	}
	s.warn(prepared.Warnings)
	doc.Diagnostics = diagnosticBodies("warning", prepared.Warnings)
	doc.Digest = hex.EncodeToString(prepared.Digest[:])
	for _, m := range prepared.Modules {
		doc.Modules = append(doc.Modules, describeModule(m))
	}
	return doc, nil
}

func describeModule(m policy.Module) checkedModule {
	p := m.Program
	body := checkedModule{
		File: m.File, Digest: hex.EncodeToString(m.Digest[:]), Selects: p.Select != program.NoPredicate,
		Rules: len(p.Rules), Helpers: []checkedHelper{},
	}
	rules := map[program.PredicateID]int{}
	for _, r := range p.Rules {
		rules[r.Head.Predicate]++
	}
	whole := window.Whole(specialize.Rewrite(p))
	for _, stratum := range p.Strata {
		for _, id := range stratum.Predicates {
			if id == p.Select {
				continue
			}
			scope := "windowed"
			if whole[id] {
				scope = "whole-root"
			}
			body.Helpers = append(body.Helpers, checkedHelper{
				Name: p.Predicates[id].Name, Arity: p.Predicates[id].Arity,
				Rules: rules[id], Recursive: stratum.Recursive, Scope: scope,
			})
		}
	}
	return body
}

func (d *policyCheckDocument) text(w io.Writer) {
	for _, m := range d.Modules {
		fmt.Fprintf(w, "%s: %s\n", ui.Quote(m.File), plural(m.Rules, "rule"))
		if !m.Selects {
			fmt.Fprintf(w, "  selects nothing: it has no %s rule\n", program.SelectFacet)
		}
		for _, h := range m.Helpers {
			fmt.Fprintf(w, "  %-24s %s, %s%s\n", fmt.Sprintf("%s/%d", h.Name, h.Arity), plural(h.Rules, "rule"), h.Scope, recursion(h))
		}
		fmt.Fprintf(w, "  %-24s %s\n", "digest", m.Digest)
	}
	fmt.Fprintf(w, "%s ready to run, %s\n", plural(len(d.Modules), "policy"), plural(len(d.Diagnostics), "warning"))
}

func recursion(h checkedHelper) string {
	if h.Recursive {
		return ", recursive"
	}
	return ""
}
