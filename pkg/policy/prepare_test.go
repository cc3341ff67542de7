package policy_test

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

const selectAll = "SelectStoredRecord(R) :- true."

func prepare(params map[string]string, texts ...string) (*policy.Prepared, error) {
	var sources []policy.Source
	for i, text := range texts {
		sources = append(sources, policy.Source{Name: fmt.Sprintf("%c.lace", 'a'+i), Text: []byte(text)})
	}
	return policy.Prepare(sources, params)
}

// What no token can be marked for: whole files, lists of files, parameters.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", syntax.MaxConstantBytes+1)
	many := strings.Repeat("h('a').\n", syntax.MaxRules)
	for _, c := range []struct {
		name   string
		params map[string]string
		texts  []string
		want   []string // the beginning of each diagnostic
	}{
		{"no files", nil, nil, []string{"policies: no policy has a SelectStoredRecord rule; say what stays"}},
		{"no selection in any file", nil, []string{"h(R) :- Have(R).", ""}, []string{"a.lace: no policy has a SelectStoredRecord rule"}},
		{"only another facet", nil, []string{"ExposeRecord(R) :- Have(R)."}, []string{"a.lace: no policy has a SelectStoredRecord rule"}},
		{"each file", nil, []string{"p(R).", selectAll, "q(R)."}, []string{"a.lace:1:1: nothing gives", "c.lace:1:1: nothing gives"}},
		{"end of file", nil, []string{"SelectStoredRecord(R) :-\n"}, []string{"a.lace:2:1: unexpected end of file; expected a predicate name"}},
		{"not UTF-8", nil, []string{selectAll + "\n% \u00e9 \xff"}, []string{`a.lace:2:5: module is not UTF-8: "\xff"; save it as UTF-8 [encoding]`}},
		{"not NFC", nil, []string{selectAll + "\n% ok\n% cafe\u0301"}, []string{`a.lace:3:6: module is not in Unicode normalization form C: "e\u0301"; normalize it`}},
		{"byte order mark", nil, []string{"\ufeff" + selectAll}, []string{`a.lace:1:1: unexpected text: "\ufeff"; save the file without a byte order mark [syntax]`}},
		{"too large", nil, []string{selectAll + strings.Repeat(" ", policy.MaxModuleBytes)}, []string{"a.lace:1:1: module is larger than 1048576 bytes; split it"}},
		{"too many rules", nil, []string{many + "h('b')."}, []string{"a.lace:10001:1: module has more than 10000 rules; split it"}},
		{"long constant", nil, []string{"SelectStoredRecord(R) :- Field(R,'a',_,'" + long + "')."}, []string{"a.lace:1:40: constant of 4097 bytes: xxx"}},
		{"long parameter", map[string]string{"p": long}, []string{selectAll}, []string{"--param p: parameter text of 4097 bytes: xxx"}},
		{"parameter not UTF-8", map[string]string{"p": "a\xff"}, []string{selectAll}, []string{`--param p: parameter text is not UTF-8: "a\xff"`}},
		{"parameter not NFC", map[string]string{"p": "e\u0301"}, []string{selectAll}, []string{"--param p: parameter text is not in Unicode normalization form C"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := prepare(c.params, c.texts...)
			list, _ := err.(syntax.List)
			if len(list) != len(c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			for i, d := range list {
				if !strings.HasPrefix(d.Error(), c.want[i]) {
					t.Errorf("got  %s\nwant %s", d.Error(), c.want[i])
				}
			}
		})
	}
}

// What is just within the limits is accepted.
func TestAcceptedLimits(t *testing.T) {
	sixteen := strings.TrimSuffix(strings.Repeat("R,", syntax.MaxArity), ",")
	rules := strings.Repeat("h('a').\n", syntax.MaxRules-1) + selectAll
	for name, text := range map[string]string{
		"constant": "SelectStoredRecord(R) :- Field(R,'a',_,'" + strings.Repeat("x", syntax.MaxConstantBytes) + "').",
		"arity":    "h(" + sixteen + ") :- Have(R).\nSelectStoredRecord(R) :- h(" + sixteen + ").",
		"rules":    rules,
		"module":   selectAll + strings.Repeat(" ", policy.MaxModuleBytes-len(selectAll)),
	} {
		if _, err := prepare(nil, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A module without the facet contributes nothing beside one that has it.
func TestModuleWithoutSelection(t *testing.T) {
	p, err := prepare(map[string]string{"b": "2", "a": "1"}, "h(R) :- Have(R).", selectAll)
	if err != nil {
		t.Fatal(err)
	}
	if first := p.Modules[0].Program; first.Select != program.NoPredicate || len(first.Rules) != 0 || len(first.Strata) != 0 {
		t.Errorf("the first module selects: %+v", first)
	}
	second := p.Modules[1].Program
	if second.Predicates[second.Select].Name != program.SelectFacet {
		t.Errorf("select is %v", second.Select)
	}
	if len(second.Params) != 2 || second.Params[0] != (program.Param{Name: "a", Value: "1"}) {
		t.Errorf("params %v", second.Params)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Code != program.CodeUnused || p.Warnings[0].Position.File != "a.lace" {
		t.Errorf("warnings %v", p.Warnings)
	}
}

// A file with very many problems shows the first ones and says that there are
// more.
func TestManyProblems(t *testing.T) {
	for name, line := range map[string]string{"lexer": "$.\n", "parser": "h(.\n", "checks": "h(R) :- nothing@(R).\n"} {
		var text strings.Builder
		for i := range 5000 {
			text.WriteString(strings.ReplaceAll(line, "@", fmt.Sprint(i)))
		}
		_, err := prepare(nil, text.String())
		list, _ := err.(syntax.List)
		if len(list) != syntax.MaxDiagnostics+1 {
			t.Fatalf("%s: %d diagnostics", name, len(list))
		}
		if last := list[len(list)-1]; last.Code != syntax.CodeLimit || last.Why != "more than 1000 problems" {
			t.Errorf("%s: the last is %s", name, last.Error())
		}
	}
}

// The digest knows what decides, and nothing else.
func TestDigest(t *testing.T) {
	digest := func(params map[string]string, texts ...string) string {
		p, err := prepare(params, texts...)
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(p.Digest[:])
	}
	base := digest(map[string]string{"p": "v"}, selectAll, "h('a').")
	if digest(map[string]string{"p": "v"}, "% comment\nSelectStoredRecord( R )\n:- true .", "h('\\u{61}') :- true.") != base {
		t.Error("layout changes the digest")
	}
	for name, other := range map[string]string{
		"value":     digest(map[string]string{"p": "w"}, selectAll, "h('a')."),
		"name":      digest(map[string]string{"q": "v"}, selectAll, "h('a')."),
		"no params": digest(nil, selectAll, "h('a')."),
		"order":     digest(map[string]string{"p": "v"}, "h('a').", selectAll),
		"one file":  digest(map[string]string{"p": "v"}, selectAll+"\nh('a')."),
		"constant":  digest(map[string]string{"p": "v"}, selectAll, "h('b')."),
	} {
		if other == base {
			t.Errorf("%s does not change the digest", name)
		}
	}
	// The layout is fixed: saved previews name it.
	if want := "4424d022905312f20677926c7c6b3fc125559830bff2e7ad4aff4bdc7f60811c"; base != want {
		t.Errorf("digest %s, want %s", base, want)
	}
}

// A module may be as hostile as its size allows: sixteen times the text costs
// nowhere near the 256 times of a quadratic preparation. Only the ratio of two
// runs is compared.
func TestPreparationIsNearLinear(t *testing.T) {
	const most, floor = 80, 5 * time.Millisecond
	whole := hostileModules(policy.MaxModuleBytes)
	for name, part := range hostileModules(policy.MaxModuleBytes / 16) {
		t.Run(name, func(t *testing.T) {
			took := func(text string) time.Duration {
				start := time.Now()
				_, err := prepare(nil, text)
				if list, ok := err.(syntax.List); err != nil && (!ok || len(list) > syntax.MaxDiagnostics+1) {
					t.Errorf("%v", err)
				}
				return time.Since(start)
			}
			base := max(floor, took(part), took(part))
			all := took(whole[name])
			// Another program may have had the processor meanwhile.
			for try := 0; try < 4 && all > most*base; try++ {
				all = min(all, took(whole[name]))
			}
			if all > most*base {
				t.Errorf("a module took %v, a sixteenth of it %v", all, base)
			}
		})
	}
}

// numbered puts i for # and the next number for @.
func numbered(format string, i int) string {
	return strings.ReplaceAll(strings.ReplaceAll(format, "#", strconv.Itoa(i)), "@", strconv.Itoa(i+1))
}

// hostileModules are texts of at most size bytes that strain one check each.
func hostileModules(size int) map[string]string {
	rules := syntax.MaxRules * size / policy.MaxModuleBytes
	last := fmt.Sprint("h", rules-1)
	repeat := func(format string) string {
		var b strings.Builder
		for i := 0; i < rules-1 && b.Len() < size-200; i++ {
			b.WriteString(numbered(format, i))
		}
		return b.String()
	}
	literals := func(format string) string {
		var b strings.Builder
		b.WriteString("SelectStoredRecord(R) :- Have(R)")
		for i := 0; b.Len() < size-200; i++ {
			b.WriteString(numbered(format, i))
		}
		return b.String() + "."
	}
	return map[string]string{
		"chain of lengths":     repeat("h#(R,n) :- h@(R,n), Compare(n,'<','5').\n") + last + "(R,n) :- Field(R,':Length',_,n). SelectStoredRecord(R) :- h0(R,_).",
		"lengths in one body":  literals(",Field(R,':Length',n#,n@),Compare(n#,'<',n@)"),
		"long chain":           repeat("h#(R) :- h@(R).\n"),
		"chain to authority":   repeat("h#(R) :- h@(R).\n") + last + "(R) :- Here(R). SelectStoredRecord(R) :- h0(R).",
		"one component":        repeat("h#(R) :- Have(R), not h@(R).\n") + last + "(R) :- h0(R).",
		"much authority":       repeat("h#(R) :- h@(R), Here(R).\n") + "SelectStoredRecord(R) :- h0(R).",
		"unknown names":        repeat("h#(R) :- unknownpredicate#(R).\n"),
		"equal links":          literals(",Compare(v@,'=',v#)") + "\n",
		"one long body":        literals(",Field(x#,'a',_,x@)"),
		"select rules":         repeat("SelectStoredRecord(R) :- Field(R,'#',_,x), RecordLink(x,_,_,_,R).\n"),
		"exchange names":       repeat("h(R) :- a#(R).\na#(R) :- Have(R).\n") + "ExposeRecord(R) :- h(R)" + strings.Repeat(", h(R)", size/21) + ".",
		"open parentheses":     strings.Repeat("a(", size/2),
		"one wide call":        "a(" + strings.Repeat("_,", size/2-10) + "_).",
		"cardinality":          literals(",Cardinality(Field(R,l#,_,_),'>','1')"),
		"quotes":               strings.Repeat("'\n", size/2),
		"double quotes":        strings.Repeat(`"`, size),
		"backslashes":          "h('" + strings.Repeat(`\q`, size/2-10) + "').",
		"one name":             strings.Repeat("a", size-10) + "(R).",
		"combining marks":      "% " + strings.Repeat("\u0301", size/2-10),
		"many partitions":      "SelectStoredRecord(R) :- TopK(Have(R),PartitionBy(" + strings.Repeat("R,", size/2-50) + "R),R,'asc','1').",
		"parentheses in error": strings.Repeat("(\n", size/2),
	}
}
