package policy_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// Any text is prepared or refused, and the canonical text of what was prepared
// prepares to the same.
func FuzzPrepare(f *testing.F) {
	f.Add([]byte(showcase))
	f.Add([]byte("SelectStoredRecord(R) :- true."))
	f.Add([]byte("SelectStoredRecord(R) :- Field(R,'\\u{1f5a7}',_,v), Compare(Number(v),'>=',Number('10')), Prefix(v,'a\\n')."))
	f.Add([]byte("a(x) :- not b(x). b(x) :- a(x). SelectStoredRecord('x')."))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Prepare([]policy.Source{{Name: "f.lace", Text: text}}, map[string]string{"p": "v"})
		if err != nil {
			list, ok := err.(syntax.List)
			if !ok || len(list) == 0 {
				t.Fatalf("not a list of diagnostics: %v", err)
			}
			return
		}
		again, err := policy.Prepare([]policy.Source{{Name: "f.lace", Text: []byte(p.Modules[0].Canonical)}}, map[string]string{"p": "v"})
		if err != nil {
			t.Fatalf("canonical text is refused: %v\n%s", err, p.Modules[0].Canonical)
		}
		if again.Modules[0].Canonical != p.Modules[0].Canonical {
			t.Fatalf("canonical text changes:\n%s\n%s", p.Modules[0].Canonical, again.Modules[0].Canonical)
		}
	})
}
