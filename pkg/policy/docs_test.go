package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// example is a block of docs/policies.md; code is the diagnostic under whose
// heading it stands, or "" outside of those.
type example struct {
	code syntax.Code
	text string
}

func readExamples(t *testing.T) []example {
	t.Helper()
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^#+ (?:`([a-z-]+)`)?")
	var all []example
	var code syntax.Code
	inside := false
	for _, line := range strings.SplitAfter(string(page), "\n") {
		switch bare := strings.TrimRight(line, "\n"); {
		case !inside && bare == "```lace":
			inside = true
			all = append(all, example{code: code})
		case inside && bare == "```":
			inside = false
		case inside:
			all[len(all)-1].text += line
		default:
			if m := heading.FindStringSubmatch(bare); m != nil {
				code = syntax.Code(m[1])
			}
		}
	}
	return all
}

// Every example of the documentation says exactly what the tool says.
func TestDocumentedExamples(t *testing.T) {
	for _, e := range readExamples(t) {
		p, err := policy.Prepare([]policy.Source{{Name: "example.lace", Text: []byte(e.text)}}, testParams())
		list, _ := err.(syntax.List)
		if err == nil {
			list = p.Warnings
		}
		if err != nil && e.code == "" {
			t.Errorf("an example is refused: %v", err)
		}
		found := e.code == ""
		var placed syntax.List
		for _, d := range list {
			found = found || d.Code == e.code
			if d.Position.Line > 0 {
				placed = append(placed, d)
			}
		}
		if !found {
			t.Errorf("the example of %s gives %v", e.code, list)
		}
		checkExpectations(t, e.text, placed)
	}
}

// Every code is documented with an example, and no other.
func TestDocumentedCodes(t *testing.T) {
	documented := map[syntax.Code]bool{}
	for _, e := range readExamples(t) {
		if e.code != "" {
			documented[e.code] = true
		}
	}
	declared := declaredCodes(t)
	for code := range declared {
		if !documented[code] {
			t.Errorf("%s has no example in docs/policies.md", code)
		}
	}
	for code := range documented {
		if !declared[code] {
			t.Errorf("docs/policies.md explains %s, which does not exist", code)
		}
	}
}

// declaredCodes reads the constants named Code... from the sources.
func declaredCodes(t *testing.T) map[syntax.Code]bool {
	t.Helper()
	codes := map[syntax.Code]bool{}
	for _, file := range []string{"syntax/diagnostic.go", "program/codes.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if ok && strings.HasPrefix(spec.Names[0].Name, "Code") {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[syntax.Code(text)] = true
			}
			return true
		})
	}
	if len(codes) < 10 {
		t.Fatalf("only %d codes found", len(codes))
	}
	return codes
}
