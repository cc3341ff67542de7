package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that conformance.md names exists.
func TestConformanceNamesExist(t *testing.T) {
	doc, err := os.ReadFile("conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	err = filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declaration.FindAllStringSubmatch(string(source), -1) {
			defined[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Subtests and scripts are named behind a slash, which is not checked here.
	names := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w*)").FindAllStringSubmatch(string(doc), -1)
	if len(names) < 50 {
		t.Errorf("conformance.md names only %d tests", len(names))
	}
	for _, m := range names {
		if !defined[m[1]] {
			t.Errorf("conformance.md names %s, which is no test", m[1])
		}
	}
}
