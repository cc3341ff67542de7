package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/syntax"
)

// example is a block of docs/diagnostics.md: a policy that gives a diagnostic,
// or its mended form.
type example struct {
	code   syntax.Code // of the heading above, or of the fence
	mended bool
	text   string
	shown  string // what the page shows as the messages, if it does
	line   int    // of its fence
}

func readExamples(t *testing.T) []example {
	t.Helper()
	page, err := os.ReadFile("../../docs/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^### `([a-z-]+)`$")
	var all []example
	var code syntax.Code
	var fill *string
	for i, line := range strings.SplitAfter(string(page), "\n") {
		bare := strings.TrimRight(line, "\n")
		switch m := heading.FindStringSubmatch(bare); {
		case fill != nil && bare == "```":
			fill = nil
		case fill != nil:
			*fill += line
		case m != nil:
			code = syntax.Code(m[1])
		case bare == "```text":
			fill = &all[len(all)-1].shown
		case strings.HasPrefix(bare, "```lace"):
			e := example{code: code, line: i + 1}
			if word := strings.TrimPrefix(bare, "```lace "); word == "mended" {
				e.mended = true
			} else if word != bare {
				e.code = syntax.Code(word)
			}
			all = append(all, e)
			fill = &all[len(all)-1].text
		}
	}
	return all
}

// diagnose prepares an example and returns all that is said about it.
func (e example) diagnose() syntax.List {
	p, err := policy.Prepare([]policy.Source{{Name: "example.lace", Text: []byte(e.text)}}, testParams())
	if err != nil {
		return err.(syntax.List)
	}
	return p.Warnings
}

// Every example gives exactly its code at the marked places, and its mended
// form gives nothing.
func TestDocumentedExamples(t *testing.T) {
	for _, e := range readExamples(t) {
		list := e.diagnose()
		if e.mended {
			if len(list) > 0 {
				t.Errorf("line %d: the mended form gives %v", e.line, list)
			}
			continue
		}
		if len(list) == 0 {
			t.Errorf("line %d: the example of %s gives nothing", e.line, e.code)
		}
		var placed syntax.List
		for _, d := range list {
			if d.Code != e.code {
				t.Errorf("line %d: the example of %s gives %s", e.line, e.code, d.Error())
			}
			if d.Position.Line > 0 {
				placed = append(placed, d)
			}
		}
		checkExpectations(t, e.text, placed)
		if e.shown != "" && e.shown != lines(list) {
			t.Errorf("line %d: the page shows\n%sit is\n%s", e.line, e.shown, lines(list))
		}
	}
}

// Every code is documented with an example and its mended form, and no other.
func TestDocumentedCodes(t *testing.T) {
	documented, mended := map[syntax.Code]bool{}, map[syntax.Code]bool{}
	for _, e := range readExamples(t) {
		if e.mended {
			mended[e.code] = true
		} else {
			documented[e.code] = true
		}
	}
	declared := declaredCodes(t)
	for code := range declared {
		if !documented[code] {
			t.Errorf("%s has no example in docs/diagnostics.md", code)
		}
		if !mended[code] {
			t.Errorf("%s has no mended example in docs/diagnostics.md", code)
		}
	}
	for code := range documented {
		if !declared[code] {
			t.Errorf("docs/diagnostics.md explains %s, which does not exist", code)
		}
	}
}

// declaredCodes reads the constants named Code... from all sources below.
func declaredCodes(t *testing.T) map[syntax.Code]bool {
	t.Helper()
	codes := map[syntax.Code]bool{}
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
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
