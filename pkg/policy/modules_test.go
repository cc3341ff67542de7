package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

var update = flag.Bool("update", false, "write the golden files anew")

// expectation is a comment under a line of a module: a caret at the column of
// the offending token, the code and a part of the message.
//
//	  SelectStoredRecord(R) :- Feild(R,'Pin',_,_).
//	%                          ^ unknown-predicate: did you mean Field
//
// A % takes the first column, so marked statements are indented.
type expectation struct {
	line, column int
	code         syntax.Code
	part         string
}

func (e expectation) matches(d syntax.Diagnostic) bool {
	return e.line == d.Position.Line && e.column == d.Position.Column && e.code == d.Code && strings.Contains(d.Error(), e.part)
}

func expectations(t *testing.T, text string) []expectation {
	t.Helper()
	caret := regexp.MustCompile(`^%( *)\^ ([a-z-]+)(?:: (.*))?$`)
	var all []expectation
	line := 0
	for i, l := range strings.Split(text, "\n") {
		m := caret.FindStringSubmatch(l)
		if m == nil {
			line = i + 1
			continue
		}
		all = append(all, expectation{line, len(m[1]) + 2, syntax.Code(m[2]), m[3]})
	}
	return all
}

// testParams are given to every module under testdata.
func testParams() map[string]string { return map[string]string{"cutoff": "1700000037:000000000"} }

// checkExpectations compares a list with the comments, in both directions.
func checkExpectations(t *testing.T, text string, got syntax.List) {
	t.Helper()
	want := expectations(t, text)
	for i := 0; i < len(got) || i < len(want); i++ {
		switch {
		case i >= len(got):
			t.Errorf("missing: %+v", want[i])
		case i >= len(want):
			t.Errorf("unexpected: %s", got[i].Error())
		case !want[i].matches(got[i]):
			t.Errorf("got  %s\nwant %+v", got[i].Error(), want[i])
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (rewrite with -update)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// eachModule runs a test on every module of a folder of testdata.
func eachModule(t *testing.T, folder string, test func(t *testing.T, name string, text []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.lace"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules in testdata/%s (%v)", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) { test(t, strings.TrimSuffix(file, ".lace"), text) })
	}
}

// Every diagnostic stands at its token, and none is missing.
func TestBadModules(t *testing.T) {
	eachModule(t, "bad", func(t *testing.T, name string, text []byte) {
		_, err := policy.Prepare([]policy.Source{{Name: "bad.lace", Text: text}}, testParams())
		list, ok := err.(syntax.List)
		if !ok || len(list) == 0 {
			t.Fatalf("not refused: %v", err)
		}
		checkExpectations(t, string(text), list)
		golden(t, name+".golden", lines(list))
	})
}

// Every message is one line that is safe to print.
func lines(l syntax.List) string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Error() + "\n")
	}
	return b.String()
}

// Good modules prepare, with exactly the warnings in their comments; the golden
// file has the program and the canonical text.
func TestGoodModules(t *testing.T) {
	eachModule(t, "good", func(t *testing.T, name string, text []byte) {
		p, err := policy.Prepare([]policy.Source{{Name: "good.lace", Text: text}}, testParams())
		if err != nil {
			t.Fatal(err)
		}
		checkExpectations(t, string(text), p.Warnings)
		m := p.Modules[0]
		golden(t, name+".golden", fmt.Sprintf("%s\n-- canonical\n%s-- warnings\n%s", describe(m.Program), m.Canonical, lines(p.Warnings)))
		again, err := policy.Prepare([]policy.Source{{Name: "good.lace", Text: []byte(m.Canonical)}}, testParams())
		if err != nil {
			t.Fatalf("canonical text is refused: %v", err)
		}
		if again.Digest != p.Digest {
			t.Error("canonical text has another digest")
		}
	})
}

func TestFormat(t *testing.T) {
	eachModule(t, "format", func(t *testing.T, name string, text []byte) {
		got, err := policy.Format(policy.Source{Name: "format.lace", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".golden", string(got))
		checkFormatted(t, text, got)
	})
}

// checkFormatted: formatting again changes nothing, no comment is lost, and the
// policy is the same.
func checkFormatted(t interface{ Fatalf(string, ...any) }, text, formatted []byte) {
	again, err := policy.Format(policy.Source{Name: "f.lace", Text: formatted})
	if err != nil {
		t.Fatalf("formatted text is refused: %v\n%s", err, formatted)
	}
	if string(again) != string(formatted) {
		t.Fatalf("formatting twice differs:\n%q\n%q", formatted, again)
	}
	before, _ := syntax.Parse("f.lace", text)
	after, _ := syntax.Parse("f.lace", formatted)
	if len(before.Comments) != len(after.Comments) {
		t.Fatalf("%d comments became %d", len(before.Comments), len(after.Comments))
	}
	for i, c := range before.Comments {
		if after.Comments[i].Text != c.Text {
			t.Fatalf("comment %q became %q", c.Text, after.Comments[i].Text)
		}
	}
	if syntax.Print(before) != syntax.Print(after) {
		t.Fatalf("formatting changed the policy:\n%s\n%s", syntax.Print(before), syntax.Print(after))
	}
}

// describe renders what an evaluator gets to see.
func describe(p *program.Program) string {
	var b strings.Builder
	name := func(id program.PredicateID) string { return p.Predicates[id].Name }
	for _, s := range p.Strata {
		var names []string
		for _, id := range s.Predicates {
			names = append(names, fmt.Sprintf("%s/%d", name(id), p.Predicates[id].Arity))
		}
		fmt.Fprintf(&b, "stratum %s recursive=%v\n", strings.Join(names, " "), s.Recursive)
	}
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "%s %s slots=%s\n", r.Position, r.Text, strings.Join(r.Slots, ","))
		for _, l := range r.Body {
			fmt.Fprintf(&b, "    %s\n", describeLiteral(p, l))
		}
	}
	return b.String()
}

func describeLiteral(p *program.Program, l program.Literal) string {
	switch l := l.(type) {
	case program.Positive:
		return fmt.Sprintf("%s %s", l.Position, describeAtom(p, l.Atom))
	case program.Negated:
		return fmt.Sprintf("%s not %s", l.Position, describeAtom(p, l.Atom))
	case program.Compare:
		return fmt.Sprintf("%s compare %d: %d %s, %d %s", l.Position, l.Operator,
			l.Left.Form, describeTerm(l.Left.Term), l.Right.Form, describeTerm(l.Right.Term))
	case program.Prefix:
		return fmt.Sprintf("%s prefix %s %q", l.Position, describeTerm(l.Term), l.Start)
	case program.Cardinality:
		return fmt.Sprintf("%s cardinality %s %d %s", l.Position, describeAtom(p, l.Atom), l.Operator, l.Count)
	case program.TopK:
		return fmt.Sprintf("%s topk %s by %v order %d %s descending=%v k=%d", l.Position, describeAtom(p, l.Atom),
			l.Partition, l.Order.Form, describeTerm(l.Order.Term), l.Descending, l.K)
	}
	return "unknown literal"
}

func describeAtom(p *program.Program, a program.Atom) string {
	terms := make([]string, len(a.Args))
	for i, t := range a.Args {
		terms[i] = describeTerm(t)
	}
	return fmt.Sprintf("%s(%s)", p.Predicates[a.Predicate].Name, strings.Join(terms, " "))
}

func describeTerm(t program.Term) string {
	switch t.Form {
	case program.Variable:
		return fmt.Sprintf("$%d", t.Slot)
	case program.Constant:
		return fmt.Sprintf("%q", t.Text)
	}
	return "_"
}

// Diagnostics never carry control characters, whatever the module holds.
func TestHostileText(t *testing.T) {
	hostile := "SelectStoredRecord(R) :- Field(R,'\x1b[31m\r\\q\u202e',_,_), \x07\x1b(R), p(\u200b).\n%\x1b\n"
	_, err := policy.Prepare([]policy.Source{{Name: "a\x1b\nb.lace", Text: []byte(hostile)}}, map[string]string{"x\x1b": "\xff"})
	list, ok := err.(syntax.List)
	if !ok || len(list) < 4 {
		t.Fatalf("got %v", err)
	}
	checkPrintable(t, lines(list))
}

func checkPrintable(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) || r == utf8.RuneError {
			t.Fatalf("%q has %q", text, r)
		}
	}
}
