package syntax_test

import (
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// Random trees: what is printed reads back as the same tree, and prints the
// same again.
func TestPrintParsePrint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := syntax.Module{Rules: rapid.SliceOfN(rapid.Custom(drawRule), 0, 5).Draw(t, "rules")}
		text := syntax.Print(m)
		read, problems := syntax.Parse("", []byte(text))
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, text)
		}
		if again := syntax.Print(read); again != text {
			t.Fatalf("prints differ:\n%s\n%s", text, again)
		}
		if len(read.Rules) != len(m.Rules) {
			t.Fatalf("%d rules became %d:\n%s", len(m.Rules), len(read.Rules), text)
		}
		for i := range m.Rules {
			if got := bareRule(read.Rules[i]); !reflect.DeepEqual(got, m.Rules[i]) {
				t.Fatalf("got  %+v\nwant %+v", got, m.Rules[i])
			}
		}
	})
}

// Random layouts: formatting twice changes nothing, loses no comment and keeps
// the policy.
func TestFormatRandomLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := syntax.Module{Rules: rapid.SliceOfN(rapid.Custom(drawRule), 0, 4).Draw(t, "rules")}
		text := scatter(t, syntax.Print(m))
		formatted, problems := syntax.Format("", []byte(text))
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, text)
		}
		again, problems := syntax.Format("", formatted)
		if len(problems) > 0 || string(again) != string(formatted) {
			t.Fatalf("formatting twice differs (%v):\n%s\nonce:\n%s\ntwice:\n%s", problems, text, formatted, again)
		}
		before, _ := syntax.Parse("", []byte(text))
		after, _ := syntax.Parse("", formatted)
		if syntax.Print(before) != syntax.Print(m) || syntax.Print(after) != syntax.Print(m) {
			t.Fatalf("the policy changed:\n%s\n%s", text, formatted)
		}
		if len(before.Comments) != len(after.Comments) {
			t.Fatalf("%d comments became %d:\n%s\n%s", len(before.Comments), len(after.Comments), text, formatted)
		}
		for i, c := range before.Comments {
			if c.Text != after.Comments[i].Text {
				t.Fatalf("comment %q became %q", c.Text, after.Comments[i].Text)
			}
		}
	})
}

// scatter puts white space and comments between the tokens of a text.
func scatter(t *rapid.T, text string) string {
	gap := rapid.SampledFrom([]string{"", "", "", " ", "\n", "\n\n\n", " % c\n", "\n  % own line \t\n", "\r\n", "\n% a\n\n% b\n"})
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		b.WriteByte(c)
		switch {
		case c == '\\' && quoted:
			i++
			b.WriteByte(text[i])
		case c == '\'':
			quoted = !quoted
		case !quoted && strings.IndexByte("(),. \n", c) >= 0:
			b.WriteString(gap.Draw(t, "gap"))
		}
	}
	return b.String()
}

func drawRule(t *rapid.T) syntax.Rule {
	r := syntax.Rule{Head: drawCall(t, 0)}
	n := rapid.IntRange(0, 4).Draw(t, "literals")
	if n == 0 {
		r.IsFact = true
		return r
	}
	for range n {
		r.Body = append(r.Body, syntax.Literal{Negated: rapid.Bool().Draw(t, "negated"), Call: drawCall(t, 0)})
	}
	return r
}

func drawCall(t *rapid.T, depth int) syntax.Call {
	c := syntax.Call{Name: drawName(t)}
	for range rapid.IntRange(0, 4).Draw(t, "args") {
		c.Args = append(c.Args, drawArg(t, depth))
	}
	return c
}

func drawArg(t *rapid.T, depth int) syntax.Arg {
	switch form := rapid.IntRange(0, 9).Draw(t, "form"); {
	case form == 0 && depth < 2:
		c := drawCall(t, depth+1)
		return syntax.Arg{Form: syntax.Nested, Call: &c}
	case form < 3:
		return syntax.Arg{Form: syntax.Anonymous}
	case form < 6:
		return syntax.Arg{Form: syntax.Variable, Name: drawName(t)}
	}
	text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("\n\t'\\\u0301\u030c\u1161ntu{}%.")), 0, 6, -1)).Draw(t, "text")
	return syntax.Arg{Form: syntax.Constant, Text: norm.NFC.String(text)}
}

func drawName(t *rapid.T) string {
	name := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_]{0,8}`)
	return name.Filter(func(s string) bool { return s != "true" && s != "not" }).Draw(t, "name")
}

// bareRule is a rule without its places in a text.
func bareRule(r syntax.Rule) syntax.Rule {
	bare := syntax.Rule{Head: bareCall(r.Head), IsFact: r.IsFact}
	for _, l := range r.Body {
		bare.Body = append(bare.Body, syntax.Literal{Negated: l.Negated, Call: bareCall(l.Call)})
	}
	return bare
}

func bareCall(c syntax.Call) syntax.Call {
	bare := syntax.Call{Name: c.Name}
	for _, a := range c.Args {
		arg := syntax.Arg{Form: a.Form, Name: a.Name, Text: a.Text}
		if a.Call != nil {
			inner := bareCall(*a.Call)
			arg.Call = &inner
		}
		bare.Args = append(bare.Args, arg)
	}
	return bare
}

func TestPrintConstant(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "''"},
		{"plain", "'plain'"},
		{`it's \`, `'it\'s \\'`},
		{"a\nb\tc", `'a\nb\tc'`},
		{"\x00\x1b\u202e\u00a0", `'\u{0}\u{1b}\u{202e}\u{a0}'`},
		{"🖧: é", "'🖧: é'"},
		// n and t would swallow the accents.
		{"\n\u0301\u0301", `'\n\u{301}` + "\u0301'"},
		{"\t\u030c", `'\t\u{30c}'`},
	} {
		got := syntax.PrintConstant(c.text)
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
		if !norm.NFC.IsNormalString(got) {
			t.Errorf("%q: %s is not NFC", c.text, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain 'text' é", "plain 'text' é"},
		{"a\x1b[31m", `"a\x1b[31m"`},
		{"\xff", `"\xff"`},
		{"\u202eright to left", `"\u202eright to left"`},
		{"back\\slash", "back\\slash"},
		{strings.Repeat("é", 100), strings.Repeat("é", 80) + "..."},
		{"x" + strings.Repeat("é", 100), "x" + strings.Repeat("é", 79) + "..."},
	} {
		if got := syntax.Quote(c.text); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestDiagnosticOrder(t *testing.T) {
	at := func(line, column int) syntax.Diagnostic {
		return syntax.Diagnostic{Code: "c", Position: syntax.Position{File: "f", Line: line, Column: column}, Why: "w"}
	}
	list := syntax.List{at(2, 1), at(1, 9), at(1, 2)}
	list.Sort()
	if got, want := list.Error(), "f:1:2: w [c]; and f:1:9: w [c]; and f:2:1: w [c]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if (syntax.List{}).Err() != nil {
		t.Error("an empty list is an error")
	}
}

// Any bytes are read or refused, and what was read prints back to itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SelectStoredRecord(R) :- true.",
		"a(R,'x\\'\\u{1f5a7}') :- not b(_), Compare(Number(x),'>=','1'). % c",
		"a(b(c(d(e(f(g))))))", "'\\u{", "a(x) :- b(x)\nc(x).", "\ufeff", "a('\xff')", ":-.:-",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, problems := syntax.Parse("f", text)
		if len(problems) > syntax.MaxDiagnostics+1 {
			t.Fatalf("%d problems", len(problems))
		}
		printed := syntax.Print(m)
		again, wrong := syntax.Parse("f", []byte(printed))
		if len(wrong) > 0 && len(printed) <= syntax.MaxModuleBytes {
			t.Fatalf("%v\n%s", wrong, printed)
		}
		if len(wrong) == 0 && syntax.Print(again) != printed {
			t.Fatalf("prints differ:\n%s\n%s", printed, syntax.Print(again))
		}
	})
}
