package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the compiled schemas of docs/schema, by file. For whoever reads
// documents they allow fields that they do not know; here each field must be
// described.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	files, err := filepath.Glob(filepath.Join("..", "docs", "schema", "*.json"))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		closeObjects(schema)
		if err := compiler.AddResource("file:///"+filepath.Base(file), schema); err != nil {
			return nil, err
		}
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, file := range files {
		name := filepath.Base(file)
		if compiled[name], err = compiler.Compile("file:///" + name); err != nil {
			return nil, err
		}
	}
	return compiled, nil
})

// closeObjects forbids every object that has described fields the others. The
// head is a part of objects that are closed themselves.
func closeObjects(schema any) {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	case map[string]any:
		for key, item := range v {
			if key == "head" {
				continue
			}
			closeObjects(item)
		}
		_, fields := v["properties"].(map[string]any)
		if fields && v["type"] == "object" {
			v["unevaluatedProperties"] = false
		}
	}
}

// valid validates one JSON text by the schema in a file.
func valid(text, file string) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	schema := all[file]
	if schema == nil {
		return fmt.Errorf("there is no docs/schema/%s", file)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("not exactly one JSON document: %w", err)
	}
	return schema.Validate(value)
}

// validOutput wants stdout of a run with --json to be one document that its
// schema describes, and each JSON line of stderr to be an event.
func validOutput(ts *testscript.TestScript, args []string) {
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if strings.HasPrefix(line, "{") {
			if err := valid(line, "event.json"); err != nil {
				ts.Fatalf("lace %s: stderr: %v\n%s", strings.Join(args, " "), err, line)
			}
		}
	}
	if !slices.Contains(args, "--json") || slices.Contains(args, "--help") {
		return
	}
	text := ts.ReadFile("stdout")
	var head struct {
		Schema string `json:"schema"`
	}
	_ = json.Unmarshal([]byte(text), &head) // without a schema there is no file of it
	command := strings.TrimSuffix(strings.TrimPrefix(head.Schema, "lace."), "/1")
	if err := valid(text, command+".json"); err != nil {
		ts.Fatalf("lace %s: stdout: %v\n%s", strings.Join(args, " "), err, text)
	}
}

// The validation is not blind: documents that break a promise are refused.
func TestSchemasRefuse(t *testing.T) {
	const good = `{"schema":"lace.export/1","root":"r","outcome":"done","started_at":"2024-01-02T03:04:05Z","ended_at":"2024-01-02T03:04:05Z","boundary":1,"exported":{"records":1,"bytes":2}}`
	if err := valid(good, "export.json"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"unknown field":         {`"boundary"`, `"other":1,"boundary"`},
		"unknown field deep":    {`"records"`, `"other":1,"records"`},
		"missing field":         {`"boundary":1,`, ``},
		"text for a number":     {`"boundary":1`, `"boundary":"1"`},
		"a fraction of a byte":  {`"bytes":2`, `"bytes":2.5`},
		"a negative count":      {`"bytes":2`, `"bytes":-2`},
		"no time":               {`"2024-01-02T03:04:05Z"`, `"yesterday"`},
		"failed without error":  {`"done"`, `"failed"`},
		"unknown outcome":       {`"done"`, `"finished"`},
		"the schema of another": {`lace.export`, `lace.admit`},
		"two documents":         {`}}`, `}}{}`},
		"something before it":   {`{"schema"`, `x{"schema"`},
	} {
		broken := strings.Replace(good, change[0], change[1], 1)
		if err := valid(broken, "export.json"); err == nil {
			t.Errorf("%s is accepted: %s", name, broken)
		}
	}
}
