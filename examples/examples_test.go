// Package examples_test runs the policies of this directory.
package examples_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/examples/scene"
	"github.com/lace-store/lace/pkg/policy"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExamples runs each policy over its scene in testdata: exactly the records
// that are marked there stay, and an operator who starts from a policy here
// meets neither an error nor a warning.
func TestExamples(t *testing.T) {
	scenes, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scenes) < 12 {
		t.Fatalf("%d scenes, %v", len(scenes), err)
	}
	for _, path := range scenes {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			s, err := scene.Read(read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			files := s.Policies
			if len(files) == 0 {
				files = []string{name + ".lace"}
			}
			var sources []policy.Source
			for _, file := range files {
				sources = append(sources, policy.Source{Name: file, Text: []byte(read(t, file))})
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
			if !slices.Equal(got, s.Kept) {
				t.Errorf("keeps %q, want %q", got, s.Kept)
			}
		})
	}
}

// TestExamplesAreComplete: each policy has a scene in which something stays,
// says what it is for, and is laid out as lace policy fmt does.
func TestExamplesAreComplete(t *testing.T) {
	files, err := filepath.Glob("*.lace")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	for _, file := range files {
		text := read(t, file)
		if !strings.HasPrefix(text, "% "+file+": ") {
			t.Errorf("%s does not begin with a comment of what it is for", file)
		}
		formatted, err := policy.Format(policy.Source{Name: file, Text: []byte(text)})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if string(formatted) != text {
			t.Errorf("%s is not formatted: lace policy fmt --write %s", file, file)
		}
		s, err := scene.Read(read(t, filepath.Join("testdata", strings.TrimSuffix(file, ".lace")+".txt")))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if len(s.Kept) == 0 || len(s.Kept) == len(s.Names) && file != "everything.lace" {
			t.Errorf("the scene of %s keeps %d of %d records", file, len(s.Kept), len(s.Names))
		}
	}
}
