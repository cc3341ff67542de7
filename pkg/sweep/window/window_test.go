package window_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
	"github.com/lace-store/lace/pkg/sweep/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func prepare(t *testing.T, text string) *program.Program {
	t.Helper()
	p, err := policy.Prepare([]policy.Source{{Name: "test.lace", Text: []byte(text)}}, map[string]string{"t": "x"})
	if err != nil {
		t.Fatal(err)
	}
	return p.Modules[0].Program
}

// TestRewrite compares the rewritten programs with golden texts: the policy of
// each file in testdata is followed by what a middle window makes of it.
func TestRewrite(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(string(golden), "---\n")
			got := sweeptest.Text(window.Rewrite(prepare(t, text), window.Anchors{After: "lo", Through: "hi"}))
			if *update {
				if err := os.WriteFile(file, []byte(text+"---\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestAnchorsAtTheEnds: the first window has no lower anchor, the last no
// upper one, and a root of one window is not rewritten at all.
func TestAnchorsAtTheEnds(t *testing.T) {
	p := prepare(t, `SelectStoredRecord(R) :- true.`)
	p.Params = nil
	for _, c := range []struct {
		anchors window.Anchors
		want    string
	}{
		{window.Anchors{Through: "hi"}, "SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder('hi'),'>=',AdmitOrder(R)).\n% stratum SelectStoredRecord\n"},
		{window.Anchors{After: "lo"}, "SelectStoredRecord(R) :- Have(R), Compare(AdmitOrder(R),'>',AdmitOrder('lo')).\n% stratum SelectStoredRecord\n"},
	} {
		if got := sweeptest.Text(window.Rewrite(p, c.anchors)); got != c.want {
			t.Errorf("%+v: got\n%s", c.anchors, got)
		}
	}
	if window.Rewrite(p, window.Anchors{}) != p {
		t.Error("a window without anchors was rewritten")
	}
}

// TestRewriteLeavesTheProgram: rewriting makes a new program, and the ids of
// the predicates that it keeps are the same.
func TestRewriteLeavesTheProgram(t *testing.T) {
	p := prepare(t, `m(R,t) :- Field(R,'Topic',_,t), not n(R). n(R) :- Field(R,'Pin',_,_). SelectStoredRecord(R) :- m(R,'x'), n(R).`)
	before := sweeptest.Text(p)
	q := window.Rewrite(p, window.Anchors{After: "lo", Through: "hi"})
	if after := sweeptest.Text(p); after != before {
		t.Errorf("the program became\n%s", after)
	}
	if !slices.Equal(q.Predicates[:len(p.Predicates)], p.Predicates) {
		t.Error("predicates were renumbered")
	}
	for _, c := range q.Predicates[len(p.Predicates):] {
		if c.ClonedFrom == program.NoPredicate {
			t.Errorf("%s does not say whom it is cloned from", c.Name)
		}
	}
}
