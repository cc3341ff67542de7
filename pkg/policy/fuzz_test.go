package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// seedModules adds every module under testdata to a fuzz target.
func seedModules(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*/*.lace")
	if err != nil || len(files) == 0 {
		f.Fatalf("no modules in testdata (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("\ufeffSelectStoredRecord(R) :- true."))
	f.Add([]byte("SelectStoredRecord(R) :- Field(R,'\\n\u0301\\t\u030c',_,_)."))
	f.Add([]byte("a(x) :- not b(x). b(x) :- a(x). SelectStoredRecord('x')."))
}

// Any text is prepared or refused with diagnostics that are safe to print, and
// the canonical text of what was prepared prepares to the same.
func FuzzPrepare(f *testing.F) {
	seedModules(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Prepare([]policy.Source{{Name: "f.lace", Text: text}}, testParams())
		if err != nil {
			list, ok := err.(syntax.List)
			if !ok || len(list) == 0 || len(list) > syntax.MaxDiagnostics+1 {
				t.Fatalf("not a list of diagnostics: %v", err)
			}
			checkPrintable(t, lines(list))
			return
		}
		checkPrintable(t, lines(p.Warnings))
		m := p.Modules[0]
		again, err := policy.Prepare([]policy.Source{{Name: "f.lace", Text: []byte(m.Canonical)}}, testParams())
		if err != nil {
			t.Fatalf("canonical text is refused: %v\n%s", err, m.Canonical)
		}
		if again.Modules[0].Canonical != m.Canonical || again.Digest != p.Digest {
			t.Fatalf("canonical text changes:\n%s\n%s", m.Canonical, again.Modules[0].Canonical)
		}
	})
}

// What can be read can be formatted, and formatting loses nothing.
func FuzzFormat(f *testing.F) {
	seedModules(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		formatted, err := policy.Format(policy.Source{Name: "f.lace", Text: text})
		if err != nil {
			return
		}
		checkFormatted(t, text, formatted)
	})
}
