package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/sweep/explain"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The examples of explain.md are golden texts of the package.
func TestExplanationsOfThePageAreGolden(t *testing.T) {
	files, err := filepath.Glob("../pkg/sweep/explain/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d golden texts, %v", len(files), err)
	}
	golden := ""
	for _, file := range files {
		golden += read(t, file)
	}
	blocks := strings.Split(read(t, "explain.md"), "```text\n")
	if len(blocks) != 3 {
		t.Errorf("%d examples, want 2", len(blocks)-1)
	}
	for _, b := range blocks[1:] {
		if text, _, _ := strings.Cut(b, "```"); !strings.Contains(golden, text) {
			t.Errorf("no golden text has\n%s", text)
		}
	}
}

// Every field of the JSON tree stands on the page.
func TestFieldsOfExplanationsAreDocumented(t *testing.T) {
	page := read(t, "explain.md")
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			visit(f.Type)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				continue
			}
			if name == "" || !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "`"+name+"[]`") {
				t.Errorf("%s.%s (%q) is not documented", of.Name(), f.Name, name)
			}
		}
	}
	visit(reflect.TypeFor[explain.Record]())
	if len(seen) != 10 {
		t.Errorf("%d objects, want 10", len(seen))
	}
	for _, kind := range []explain.Kind{explain.Fact, explain.Derived, explain.Not, explain.Compare, explain.Prefix, explain.Cardinality, explain.TopK, explain.Head} {
		if !strings.Contains(page, "`"+string(kind)+"`") {
			t.Errorf("the kind %s is not documented", kind)
		}
	}
}
