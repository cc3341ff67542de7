package policy_test

import (
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
)

const showcase = `% keep pinned records and what they link to, and the newest 3 of each topic
pinned(R)             :- Field(R,'Pin',_,_).
reach(R)              :- pinned(R).
reach(T)              :- reach(R), RecordLink(R,_,_,_,T), Have(T).
topic(R,t)            :- Field(R,'Topic',_,t).
SelectStoredRecord(R) :- reach(R).
SelectStoredRecord(R) :- TopK(topic(R,t), PartitionBy(t), AdmitOrder(R), 'desc', '3').
`

func TestPrepareShowcase(t *testing.T) {
	p, err := policy.Prepare([]policy.Source{{Name: "show.lace", Text: []byte(showcase)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	prog := p.Modules[0].Program
	if len(prog.Rules) != 6 || len(prog.Strata) != 4 {
		t.Errorf("%d rules in %d strata, want 6 in 4", len(prog.Rules), len(prog.Strata))
	}
	again, err := policy.Prepare([]policy.Source{{Name: "show.lace", Text: []byte(p.Modules[0].Canonical)}}, nil)
	if err != nil {
		t.Fatalf("canonical text: %v", err)
	}
	if again.Modules[0].Canonical != p.Modules[0].Canonical || again.Digest != p.Digest {
		t.Error("canonical text of canonical text differs")
	}
}

// Each module is refused with exactly these diagnostics.
func TestDiagnostics(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unclosed", "SelectStoredRecord(R) :- Field(R,'x", "p.lace:1:34: constant without its closing quote: 'x; close it with ' on the same line; write a line break as \\n [syntax]"},
		{"suggestion", "SelectStoredRecord(R) :- Feild(R,'Pin',_,_).", "p.lace:1:26: no rule defines this predicate: Feild; did you mean Field? [unknown-predicate]"},
		{"arity", "SelectStoredRecord(R) :- Field(R,'Pin').", "p.lace:1:26: 2 arguments: Field; Field takes 4 [arity]"},
		{"unsafe head", "h(R,x) :- Have(R).\nSelectStoredRecord(R) :- h(R,_).", "p.lace:1:1: nothing gives a value to a variable of the head: x; use it in a positive literal, or write _ where any value will do [unsafe-variable]"},
		{"unsafe not", "SelectStoredRecord(R) :- Have(R), not Field(R,'a',_,v).", "p.lace:1:35: nothing gives a value to a variable of a negated literal: v; use it in a positive literal, or write _ where any value will do [unsafe-variable]"},
		{"open helper", "h(R) :- true.\nSelectStoredRecord(R) :- h(R).", "p.lace:1:1: nothing gives a value to a variable of the head: R; use it in a positive literal, or write _ where any value will do [unsafe-variable]"},
		{"cycle", "a(R) :- Have(R), not b(R).\nb(R) :- Have(R), a(R).\nSelectStoredRecord(R) :- a(R).", "p.lace:1:22: a predicate depends on itself through not, Cardinality or TopK: a -> b -> a; break the cycle: what is negated, counted or ranked must be complete before [unstratified]"},
		{"authority", "mine(R) :- Field(R,'By',_,v), Here(v).\nx(R) :- mine(R).\nSelectStoredRecord(R) :- x(R).", "p.lace:1:31: the selection depends on who asks, and a retention run has nobody asking: SelectStoredRecord -> x -> mine -> Here; select by what the records say instead [authority]"},
		{"reserved head", "Have(R) :- Field(R,'a',_,_).\nSelectStoredRecord(R) :- Have(R).", "p.lace:1:1: the name is built in and cannot be the head of a rule: Have; give the helper another name [reserved]"},
		{"facet in body", "SelectStoredRecord(R) :- SelectStoredRecord(R).", "p.lace:1:26: a facet cannot be read in a body: SelectStoredRecord; move what it selects into a helper, and call that [reserved]"},
		{"facet arity", "SelectStoredRecord(R,x) :- Field(R,'a',_,x).", "p.lace:1:1: 2 arguments: SelectStoredRecord; write SelectStoredRecord(R) [arity]"},
		{"no selection", "h(R) :- Have(R).", "p.lace:1:1: no policy has a SelectStoredRecord rule; say what stays: SelectStoredRecord(R) :- ... [no-selection]"},
		{"param", "SelectStoredRecord(R) :- Field(R,'TAI',_,t), Param('cutoff',c), Compare(t,'>',c).", "p.lace:1:52: the parameter is used but not given: cutoff; give it with --param cutoff=VALUE [param]"},
		{"shared local", "SelectStoredRecord(R) :- Have(R), Cardinality(Field(R,'a',_,v),'>','1'), Cardinality(Field(R,'b',_,v),'>','1').", "p.lace:1:74: a variable is local to two Cardinality literals: v; rename it in one of them, or bind it in a positive literal [shared-local]"},
		{"two at once", "SelectStoredRecord(R) :- Feild(R,'Pin',_,_).\nx(R) :- .\n", "p.lace:1:26: no rule defines this predicate: Feild"},
		{"control", "SelectStoredRecord(R) :- Have(R), \x1b(R).", `p.lace:1:35: unexpected character: "\x1b"; text goes into '...', comments begin with % [syntax]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := policy.Prepare([]policy.Source{{Name: "p.lace", Text: []byte(c.text)}}, nil)
			if c.name == "two at once" {
				// The unreadable rule hides the unknown predicate, not the other way round.
				if err == nil || !strings.Contains(err.Error(), "p.lace:2:9: unexpected text") {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err == nil || err.Error() != c.want {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
