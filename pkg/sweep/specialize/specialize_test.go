package specialize_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep/specialize"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func prepare(t *testing.T, text string) *program.Program {
	t.Helper()
	p, err := policy.Prepare([]policy.Source{{Name: "test.lace", Text: []byte(text)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Modules[0].Program
}

// numbered is a program whose variants have their ids behind their names.
func numbered(p *program.Program) *program.Program {
	q := *p
	q.Predicates = slices.Clone(p.Predicates)
	for id := range q.Predicates {
		if of := q.Predicates[id].ClonedFrom; of != program.NoPredicate {
			first := slices.IndexFunc(q.Predicates, func(other program.Predicate) bool { return other.ClonedFrom != program.NoPredicate })
			q.Predicates[id].Name += fmt.Sprintf("#%d", id-first+1)
		}
	}
	return &q
}

// TestRewrite compares the rewritten programs with golden texts.
func TestRewrite(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(string(golden), "---\n")
			got := sweeptest.Text(numbered(specialize.Rewrite(prepare(t, text))))
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

// TestManyVariants: a helper that is called with more constants than variants
// are worth stays whole, and with as many does not.
func TestManyVariants(t *testing.T) {
	for _, c := range []struct {
		constants int
		want      bool
	}{{specialize.MaxVariants, true}, {specialize.MaxVariants + 1, false}} {
		text := "m(R,t) :- Field(R,'Topic',_,t).\n"
		for i := range c.constants {
			text += fmt.Sprintf("SelectStoredRecord(R) :- m(R,'%d').\n", i)
		}
		p := prepare(t, text)
		if got := specialize.Rewrite(p) != p; got != c.want {
			t.Errorf("%d constants: specialised %t", c.constants, got)
		}
	}
}

// TestExact: to the oracle a rewritten program selects the same records.
func TestExact(t *testing.T) {
	specialised := 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		root := sweeptest.RandomRoot(rng, 12)
		p := sweeptest.RandomProgram(rng, root, true)
		before, q := sweeptest.Text(p), specialize.Rewrite(p)
		for again := 0; again < 20 && q == p; again++ {
			p = sweeptest.RandomProgram(rng, root, true)
			before, q = sweeptest.Text(p), specialize.Rewrite(p)
		}
		if after := sweeptest.Text(p); after != before {
			t.Fatalf("the program became\n%s", after)
		}
		if q == p {
			return
		}
		specialised++
		want, err := sweeptest.Select(p, root.Records)
		if errors.Is(err, sweeptest.ErrTooLarge) {
			return
		}
		got, rewrittenErr := sweeptest.Select(q, root.Records)
		if err != nil || rewrittenErr != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v: selects %v, want %v\n%s\nrewritten\n%s\n%s", err, rewrittenErr, got, want, before, sweeptest.Text(numbered(q)), root.Listing())
		}
	})
	if specialised < 80 {
		t.Errorf("%d programs were specialised", specialised)
	}
}
