package explain_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/explain"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// load admits the records of a root.
func load(t testing.TB, root *sweeptest.Root) store.Backend {
	t.Helper()
	var op store.StoreRecords
	for _, rec := range root.Records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			t.Fatal(err)
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	b := memory.New()
	if _, err := b.Execute(op); err != nil {
		t.Fatal(err)
	}
	return b
}

// explained sweeps and explains records.
func explained(t testing.TB, b store.Backend, modules []*program.Program, o sweep.Options, ids ...store.RecordID) []explain.Record {
	t.Helper()
	result, err := sweep.RunPrograms(context.Background(), b, modules, o)
	if err != nil {
		t.Fatal(err)
	}
	records, err := result.ExplainPrograms(context.Background(), b, modules, ids)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func prepare(t testing.TB, name, text string) *program.Program {
	t.Helper()
	p, err := policy.Prepare([]policy.Source{{Name: name, Text: []byte(text)}}, map[string]string{"cutoff": "b"})
	if err != nil {
		t.Fatal(err)
	}
	return p.Modules[0].Program
}

// exampleRoot has five records of the topic lobby, a chain of links from a
// pinned record, a Seal, a number and a value that wants to move a cursor.
func exampleRoot() *sweeptest.Root {
	r := &sweeptest.Root{}
	h := func(name, value string) record.Header { return record.Header{Name: name, Value: value} }
	one := r.Add(sweeptest.MakePlex("one", h("Topic", "lobby"), h("N", "5")))
	two := r.Add(sweeptest.MakePlex("two", h("Topic", "lobby"), h("Prev", one)))
	three := r.Add(sweeptest.MakePlex("three", h("Pin", "yes"), h("Prev", "old "+two), h("Topic", "lobby"), h("yes", "done")))
	r.Add(sweeptest.MakePlex("four", h("N", "007"), h("Topic", "lobby"), h("Topic", "news")))
	r.Add(sweeptest.MakePlex("five", h("Prev", sweeptest.AbsentHash(1)), h("Topic", "lobby"), h("Topic", "\u202e'red\u0085")))
	r.Add(sweeptest.MakeSeal(sweeptest.MakePlex("six", h("Prev", three)), 1))
	return r
}

// TestGolden compares explanations with golden texts. Each file of testdata
// has a policy; what it says about every record of the root follows.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	root := exampleRoot()
	var ids []store.RecordID
	for i := range root.Records {
		ids = append(ids, store.RecordID(i+1))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(string(golden), "---\n")
			module := prepare(t, strings.TrimSuffix(filepath.Base(file), ".txt")+".lace", text)
			var got bytes.Buffer
			records := explained(t, load(t, root), []*program.Program{module}, sweep.Options{}, ids...)
			if err := explain.WriteText(&got, records); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(text+"---\n"+got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", &got, want)
			}
		})
	}
}
