// Package policy prepares retention policies: Datalog modules become checked
// programs with digests. It is the one door to syntax and program, and knows no
// store.
package policy

import (
	"encoding/binary"
	"sort"

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
	// Digest is BLAKE3 over the length-prefixed canonical texts and the
	// resolved parameters.
	Digest [32]byte
}

// Prepare parses and checks policies. The error is a syntax.List of all that
// is wrong in all files. A module without a SelectStoredRecord rule selects
// nothing; a list in which no module has one is refused, since it would mean
// to remove everything (seed 000).
func Prepare(sources []Source, params map[string]string) (*Prepared, error) {
	p := &Prepared{}
	var errs syntax.List
	selects := false
	for _, src := range sources {
		tree, bad := syntax.Parse(src.Name, src.Text)
		prog, warnings, wrong := program.Lower(tree, params)
		if len(bad) > 0 {
			// What could not be read may define what seems unknown.
			wrong = withoutCode(wrong, program.CodeUnknown)
		}
		wrong = append(bad, wrong...)
		wrong.Sort()
		errs = append(errs, wrong...)
		if len(wrong) > 0 {
			continue
		}
		canonical := syntax.Print(tree)
		p.Modules = append(p.Modules, Module{src.Name, prog, canonical, blake3.Sum256([]byte(canonical))})
		p.Warnings = append(p.Warnings, warnings...)
		selects = selects || prog.Select != program.NoPredicate
	}
	if len(errs) == 0 && !selects {
		at := syntax.Position{File: "policies", Line: 1, Column: 1}
		if len(sources) > 0 {
			at.File = sources[0].Name
		}
		errs = append(errs, syntax.Diagnostic{
			Code: program.CodeNoSelection, Position: at, Why: "no policy has a " + program.SelectFacet + " rule",
			Mend: "say what stays: " + program.SelectFacet + "(R) :- ...",
		})
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	p.Digest = digest(p.Modules, params)
	return p, nil
}

func withoutCode(l syntax.List, code syntax.Code) syntax.List {
	var rest syntax.List
	for _, d := range l {
		if d.Code != code {
			rest = append(rest, d)
		}
	}
	return rest
}

// digest is over each text behind its length as little-endian u64, then over
// the parameters, sorted by name, in the same way.
func digest(modules []Module, params map[string]string) [32]byte {
	h := blake3.New()
	put := func(text string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
		h.WriteString(text)
	}
	for _, m := range modules {
		put(m.Canonical)
	}
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		put(name)
		put(params[name])
	}
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}
