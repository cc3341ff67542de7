// Package examples_test prepares the policies of this directory.
package examples_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
)

// TestExamples: an operator who starts from a policy here meets no error.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.lace")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := policy.Prepare([]policy.Source{{Name: file, Text: text}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range p.Warnings {
				t.Logf("warning: %v", w)
			}
		})
	}
}
