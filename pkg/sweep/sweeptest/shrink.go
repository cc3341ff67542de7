package sweeptest

import (
	"fmt"
	"slices"
	"strings"
)

// Shrink makes a case smaller for as long as it still fails: it leaves out
// modules, rules, literals and records, one at a time. fails must be false for
// policies that preparation refuses.
func Shrink(p Policies, r *Root, fails func(Policies, *Root) bool) (Policies, *Root) {
	for again := true; again; {
		again = false
		for _, smaller := range smallerPolicies(p) {
			if fails(smaller, r) {
				p, again = smaller, true
				break
			}
		}
		for i := range r.Records {
			smaller := &Root{Records: slices.Delete(slices.Clone(r.Records), i, i+1)}
			if fails(p, smaller) {
				r, again = smaller, true
				break
			}
		}
	}
	return p, r
}

// smallerPolicies returns p without one of its parts, for each of them.
func smallerPolicies(p Policies) []Policies {
	var all []Policies
	with := func(modules []string) { all = append(all, Policies{Modules: modules, Params: p.Params}) }
	for m, text := range p.Modules {
		if len(p.Modules) > 1 {
			with(slices.Delete(slices.Clone(p.Modules), m, m+1))
		}
		change := func(lines []string) {
			modules := slices.Clone(p.Modules)
			modules[m] = strings.Join(lines, "\n") + "\n"
			with(modules)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			if len(lines) > 1 {
				change(slices.Delete(slices.Clone(lines), i, i+1))
			}
			head, body, _ := strings.Cut(strings.TrimSuffix(line, "."), " :- ")
			// Only between literals does a space follow a comma.
			literals := strings.Split(body, ", ")
			for j := range literals {
				if len(literals) == 1 {
					break
				}
				shorter := slices.Clone(lines)
				shorter[i] = head + " :- " + strings.Join(slices.Delete(slices.Clone(literals), j, j+1), ", ") + "."
				change(shorter)
			}
		}
	}
	return all
}

// Listing renders the records of a root, one after the other, for a failure
// message.
func (r *Root) Listing() string {
	var b strings.Builder
	for i, rec := range r.Records {
		facts, err := project(rec)
		if err != nil {
			fmt.Fprintf(&b, "#%d: %v\n", i+1, err)
			continue
		}
		fmt.Fprintf(&b, "#%d %s\n", i+1, facts[0].args[0])
		for _, f := range facts[1:] {
			fmt.Fprintf(&b, "    %s %s\n", [...]string{"", "Have", "Field", "RecordLink", "ContainsRecord"}[f.base], strings.Join(f.args[1:], " | "))
		}
	}
	return b.String()
}
