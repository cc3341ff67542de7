package fact

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedFacts projects the example of the format's documentation.
func TestDocumentedFacts(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/format/records.md")
	if err != nil {
		t.Fatal(err)
	}
	example := func(name string) string {
		_, rest, ok := strings.Cut(string(doc), "<!-- example "+name+" -->\n```\n")
		text, _, closed := strings.Cut(rest, "\n```\n")
		if !ok || !closed {
			t.Fatalf("no example of %s", name)
		}
		return text
	}
	facts, err := Collect([]byte(example("seal")))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range facts {
		lines = append(lines, f.String())
	}
	if got, want := strings.Join(lines, "\n"), example("facts"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
