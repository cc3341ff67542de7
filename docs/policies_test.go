package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/examples/scene"
	"github.com/lace-store/lace/pkg/policy"
)

// lesson is what policies.md says of the policies between two lines "Keeps:".
type lesson struct {
	line     int // of "Keeps:"
	policies []string
	keeps    []string
}

// readLessons returns the root that policies.md describes, and its lessons.
func readLessons(t *testing.T) (root string, lessons []lesson) {
	t.Helper()
	page, err := os.ReadFile("policies.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	var fill *string
	var next lesson
	for i, line := range strings.SplitAfter(string(page), "\n") {
		bare := strings.TrimRight(line, "\n")
		switch {
		case fill != nil && bare == "```":
			fill = nil
		case fill != nil:
			*fill += line
		case bare == "```root":
			fill = &root
		case bare == "```lace":
			next.policies = append(next.policies, "")
			fill = &next.policies[len(next.policies)-1]
		case strings.HasPrefix(bare, "Keeps"):
			next.line = i + 1
			for _, m := range quoted.FindAllStringSubmatch(bare, -1) {
				next.keeps = append(next.keeps, m[1])
			}
			lessons, next = append(lessons, next), lesson{}
		}
	}
	if len(next.policies) > 0 {
		t.Errorf("nothing is said of what %q keeps", next.policies)
	}
	return root, lessons
}

// Every policy of policies.md keeps, of the root that is described there,
// exactly the records that the page says.
func TestPoliciesKeepWhatThePageSays(t *testing.T) {
	root, lessons := readLessons(t)
	if len(lessons) < 12 {
		t.Fatalf("policies.md has only %d lessons", len(lessons))
	}
	for _, l := range lessons {
		t.Run(fmt.Sprintf("line %d", l.line), func(t *testing.T) {
			s, err := scene.Read(root)
			if err != nil {
				t.Fatal(err)
			}
			var sources []policy.Source
			for i, text := range l.policies {
				for _, m := range regexp.MustCompile(`(?m)^% --param (\S+)$`).FindAllStringSubmatch(text, -1) {
					if err := s.Param(m[1]); err != nil {
						t.Fatal(err)
					}
				}
				formatted, err := policy.Format(policy.Source{Text: []byte(text)})
				if err != nil || string(formatted) != text {
					t.Errorf("the page is not formatted (%v); it would be\n%s", err, formatted)
				}
				sources = append(sources, policy.Source{Name: fmt.Sprintf("%d.lace", i+1), Text: []byte(text)})
			}
			p, err := policy.Prepare(sources, s.Params)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Warnings) > 0 {
				t.Errorf("warnings: %v", p.Warnings)
			}
			got, err := s.Keeps(p)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(l.keeps)
			slices.SortFunc(want, func(a, b string) int { return slices.Index(s.Names, a) - slices.Index(s.Names, b) })
			if !slices.Equal(got, want) {
				t.Errorf("keeps %q, the page says %q", got, want)
			}
		})
	}
}
