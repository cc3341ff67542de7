// Package policy prepares retention policies: Datalog modules become checked
// programs with digests. It is the one door to syntax and program, and knows no
// store.
package policy

import (
	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// MaxModuleBytes bounds the text of a module.
const MaxModuleBytes = syntax.MaxModuleBytes

// Source is the text of one module.
type Source struct {
	Name string // for messages: the file
	Text []byte
}

// Module is one prepared policy.
type Module struct {
	File    string
	Program *program.Program
	// Canonical is the canonical text, and Digest its BLAKE3.
	Canonical string
	Digest    [32]byte
}

// Prepared is a list of policies that can be evaluated. A record is retained
// when at least one module selects it, each evaluated alone.
type Prepared struct {
	Modules  []Module
	Warnings syntax.List
	// Digest is BLAKE3 over the canonical texts and the resolved parameters.
	Digest [32]byte
}

// Prepare parses and checks policies; params are the values of Param by name,
// resolved (ResolveParam). The error is a syntax.List of all that is wrong in
// all files, in their order. A module without a SelectStoredRecord rule selects
// nothing; a list in which no module has one is refused, since it would mean
// to remove everything (seed 000).
func Prepare(sources []Source, params map[string]string) (*Prepared, error) {
	p := &Prepared{}
	errs := checkParams(params)
	selects := false
	for _, src := range sources {
		module, warnings, wrong := prepareModule(src, params)
		errs = append(errs, wrong...)
		if len(wrong) > 0 {
			continue
		}
		p.Modules = append(p.Modules, module)
		p.Warnings = append(p.Warnings, warnings...)
		selects = selects || module.Program.Select != program.NoPredicate
	}
	if len(errs) == 0 && !selects {
		errs = append(errs, noSelection(sources))
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	p.Digest = digest(p.Modules, params)
	return p, nil
}

func prepareModule(src Source, params map[string]string) (m Module, warnings, errs syntax.List) {
	tree, errs := syntax.Parse(src.Name, src.Text)
	prog, warnings, wrong := program.Lower(tree, params)
	if errs = append(errs, wrong...); len(errs) > 0 {
		errs.Sort()
		return Module{}, nil, errs.Limited()
	}
	canonical := syntax.Print(tree)
	return Module{src.Name, prog, canonical, blake3.Sum256([]byte(canonical))}, warnings, nil
}

func noSelection(sources []Source) syntax.Diagnostic {
	at := syntax.Position{File: "policies"}
	if len(sources) > 0 {
		at.File = sources[0].Name
	}
	return syntax.Diagnostic{
		Code: program.CodeNoSelection, Position: at, Why: "no policy has a " + program.SelectFacet + " rule",
		Mend: "say what stays: " + program.SelectFacet + "(R) :- ...",
	}
}

// Format returns the text of one module laid out for people, with all its
// comments. The error is a syntax.List: a module that cannot be read is not
// formatted.
func Format(src Source) ([]byte, error) {
	text, problems := syntax.Format(src.Name, src.Text)
	return text, problems.Err()
}
