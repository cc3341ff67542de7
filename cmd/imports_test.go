package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

const modulePath = "github.com/lace-store/lace"

// listed is a package as `go list` describes it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	command := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...")
	command.Dir = ".."
	// The graph is the one with every profile, whatever this build has.
	command.Env = append(os.Environ(), "CGO_ENABLED=1")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// inModule cuts the module path off; "." is the module's own package.
func inModule(path string) (string, bool) {
	if path == modulePath {
		return ".", true
	}
	return strings.CutPrefix(path, modulePath+"/")
}

// The edges between the packages are those of testdata/imports.txt.
func TestImportGraph(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The import graph of the project: a package, and what it imports of the\n" +
		"# project. Test files are not counted. A new edge is a reviewed line here.\n")
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		b.WriteString(name + ":")
		for _, i := range p.Imports {
			if inner, ok := inModule(i); ok {
				b.WriteString(" " + inner)
			}
		}
		b.WriteString("\n")
	}
	golden := filepath.Join("testdata", "imports.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("the import graph is\n%s\nwant\n%s\n(go test ./cmd -run TestImportGraph -update)", got, want)
	}
}

// What must be unable to see something does not reach it, even indirectly.
func TestForbiddenImports(t *testing.T) {
	profiles := []string{"pkg/store/native", "pkg/store/lmdb", "pkg/store/node", "pkg/store/memory"}
	commandLine := []string{"github.com/spf13/cobra", "github.com/spf13/viper", "github.com/schollz/progressbar/v3"}
	for _, rule := range []struct {
		name, from string
		never      []string
	}{
		{"compaction knows no policy, fact, index or profile", "pkg/compact",
			append([]string{"pkg/policy", "pkg/sweep", "pkg/store/fact", "pkg/store/index"}, profiles...)},
		{"the sweep knows no files, mappings, compaction or profile", "pkg/sweep",
			append([]string{"pkg/store/vfs", "pkg/mmap", "pkg/compact"}, profiles...)},
		{"policies know no store", "pkg/policy", []string{"pkg/store"}},
		{"stores know no policy", "pkg/store", []string{"pkg/policy", "pkg/sweep"}},
		{"nothing under pkg knows the command line", "pkg", commandLine},
	} {
		t.Run(rule.name, func(t *testing.T) {
			seen := false
			for _, p := range listPackages(t) {
				name, _ := inModule(p.ImportPath)
				if !within(name, rule.from) || strings.HasSuffix(name, "test") {
					continue
				}
				seen = true
				for _, dep := range p.Deps {
					inner, ok := inModule(dep)
					if !ok {
						inner = dep
					}
					for _, never := range rule.never {
						if within(inner, never) && !within(inner, rule.from) {
							t.Errorf("%s reaches %s", name, inner)
						}
					}
				}
			}
			if !seen {
				t.Errorf("no package under %s", rule.from)
			}
		})
	}
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// Only main exits and only cmd knows the standard streams; files are reached
// through vfs alone by everything that works on a root.
func TestForbiddenCalls(t *testing.T) {
	files := []string{"Open", "OpenFile", "Create", "ReadFile", "WriteFile", "Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll", "Stat", "Lstat", "ReadDir", "Truncate"}
	streams := []string{"Exit", "Stdin", "Stdout", "Stderr"}
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		if !within(name, "pkg") {
			continue
		}
		banned := streams
		if !within(name, "pkg/store/vfs/osfs") && !within(name, "pkg/store/vfs/vfstest") && !within(name, "pkg/store/profiletest") && !within(name, "pkg/mmap") {
			banned = slices.Concat(streams, files)
		}
		for _, file := range p.GoFiles {
			path := filepath.Join(p.Dir, file)
			tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == "os" && slices.Contains(banned, sel.Sel.Name) {
					t.Errorf("%s/%s uses os.%s", name, file, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// Every package says in one sentence what it does, right above its name.
func TestPackageComments(t *testing.T) {
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		documented := false
		for _, file := range p.GoFiles {
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || tree.Doc != nil && len(tree.Doc.Text()) > 20
		}
		if len(p.GoFiles) > 0 && !documented {
			t.Errorf("package %s has no comment", name)
		}
	}
}
