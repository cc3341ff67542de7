package docs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite generated pages")

// jsonPages is the order of json.md.
var jsonPages = []string{"common", "compact", "resume", "sweep", "verify", "inspect", "admit", "export", "policy-check", "policy-fmt", "config", "lace", "event"}

const jsonIntroduction = `# JSON documents and events

With ` + "`--json`" + ` a command writes exactly one document to stdout, in every outcome,
errors and mistaken flags included. Bytes are integers, times are RFC 3339 in
UTC, and names and meanings do not change within a version (` + "`lace.compact/1`" + `);
fields may be added, so that a reader ignores those it does not know. A field
that does not apply is absent. What the tables below say to be always there is
there whenever the document has no ` + "`error`" + `; beside an error a document has what
was found until then. With ` + "`--progress json`" + ` and ` + "`--log-format json`" + ` stderr is
one event a line.

A phase has a progress event when it begins, when its first count is known, at
least every 30 seconds while it lasts, and at its end. Before the first count
` + "`done`" + ` and ` + "`total`" + ` are 0 and ` + "`unit`" + ` is empty; after it ` + "`done`" + ` never falls and never
passes ` + "`total`" + `, which stays the same. A resumed run counts from where it goes on.

The tables are made from the JSON Schemas in ` + "`schema/`" + ` (draft 2020-12), by which
every scripted test of the command line validates what it reads.
`

// Page json.md says what the schemas say.
func TestJSONPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(jsonIntroduction)
	seen := 0
	for _, name := range jsonPages {
		text, err := os.ReadFile(filepath.Join("schema", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", name, schema["title"])
		writeObject(&b, "", schema)
		for _, key := range []string{"$defs"} {
			defs, _ := schema[key].(map[string]any)
			for _, def := range slices.Sorted(maps.Keys(defs)) {
				writeObject(&b, def, defs[def].(map[string]any))
			}
		}
		alternatives, _ := schema["oneOf"].([]any)
		for _, a := range alternatives {
			writeObject(&b, "", a.(map[string]any))
		}
		seen++
	}
	if files, err := filepath.Glob("schema/*.json"); err != nil || len(files) != seen {
		t.Errorf("%d schemas are listed, there are %v (%v)", seen, files, err)
	}
	if *update {
		if err := os.WriteFile("json.md", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("json.md")
	if err != nil || string(got) != b.String() {
		t.Errorf("json.md is not what the schemas say (%v): go test ./docs -run TestJSONPage -update", err)
	}
}

// writeObject writes a table of the fields of an object, of nested ones too.
func writeObject(b *strings.Builder, title string, schema map[string]any) {
	if _, ok := schema["properties"]; !ok {
		return
	}
	if title != "" {
		fmt.Fprintf(b, "\n`%s`:\n", title)
	}
	b.WriteString("\n| field | type | always | meaning |\n|---|---|---|---|\n")
	writeFields(b, "", schema)
}

func writeFields(b *strings.Builder, prefix string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	if then, ok := schema["then"].(map[string]any); ok && required == nil {
		required, _ = then["required"].([]any)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		field := properties[name].(map[string]any)
		always := ""
		if slices.Contains(required, any(name)) {
			always = "yes"
		}
		kind, inner, suffix := describeType(field)
		meaning, _ := field["description"].(string)
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", prefix+name, kind, always, strings.ReplaceAll(meaning, "|", `\|`))
		if inner != nil {
			writeFields(b, prefix+name+suffix+".", inner)
		}
	}
}

// describeType names a type, and returns the object whose fields come next.
func describeType(field map[string]any) (kind string, inner map[string]any, suffix string) {
	if c, ok := field["const"].(string); ok {
		return "`" + c + "`", nil, ""
	}
	if values, ok := field["enum"].([]any); ok {
		var words []string
		for _, v := range values {
			words = append(words, fmt.Sprintf("`%v`", v))
		}
		return strings.Join(words, " "), nil, ""
	}
	if ref, ok := field["$ref"].(string); ok {
		return "`" + ref[strings.LastIndex(ref, "/")+1:] + "`", nil, ""
	}
	if items, ok := field["items"].(map[string]any); ok {
		of, inner, _ := describeType(items)
		return "list of " + of, inner, "[]"
	}
	kind, _ = field["type"].(string)
	if format, ok := field["format"].(string); ok {
		kind = format
	}
	if _, ok := field["properties"]; ok {
		return kind, field, ""
	}
	return kind, nil, ""
}
