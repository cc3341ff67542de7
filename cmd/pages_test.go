package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// pages are the documents whose command lines are run.
var pages = []string{"README.md", "docs/operations.md", "docs/recovery.md"}

// Every command line that a page shows works as it is printed.
//
// A block ```console has command lines behind "$ ", which exit 0 unless they
// end with "# exit N", and lines of output, which must be printed (any number
// stands for any other). A comment <!-- script has lines that are run as they
// are, to bring about what the page talks of.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	showcase, err := os.ReadFile("../examples/showcase.lace")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		script, commands := scriptOf(string(text), string(showcase))
		if commands < 3 {
			t.Errorf("%s shows %d commands", page, commands)
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "mkroot": mkroot, "interrupt": interrupt, "damage": damage, "prints": prints,
			"generate": generate,
		},
	})
}

var exitComment = regexp.MustCompile(`\s+# exit (\d+)$`)

// scriptOf turns a page into a script, and counts the command lines.
func scriptOf(page, showcase string) (script string, commands int) {
	var b strings.Builder
	// The places that the pages speak of lie in the script's own directory.
	local := strings.NewReplacer("/srv/", "srv/", "/etc/lace/", "etc/", "/var/lib/lace/", "var/", "bin/lace ", "lace ")
	b.WriteString("mkdir srv var tmp\n")
	in := ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "```console" || line == "<!-- script":
			in = line
		case line == "```" || line == "-->":
			in = ""
		case in == "<!-- script":
			fmt.Fprintln(&b, line)
		case in == "```console" && strings.HasPrefix(line, "$ "):
			code := "0"
			if m := exitComment.FindStringSubmatch(line); m != nil {
				code, line = m[1], strings.TrimSuffix(line, m[0])
			}
			commands++
			if made, ok := strings.CutPrefix(line, "$ go run ./scripts/mkroot "); ok {
				fmt.Fprintln(&b, "generate", made)
				continue
			}
			fmt.Fprintln(&b, "exits", code, local.Replace(line[len("$ "):]))
		case in == "```console" && strings.TrimSpace(line) != "...":
			fmt.Fprintf(&b, "prints '%s'\n", strings.ReplaceAll(local.Replace(line), "'", "''"))
		}
	}
	b.WriteString("-- etc/keep.lace --\nSelectStoredRecord(R) :- Field(R,':Type',_,_).\n-- etc/lace.yaml --\nmax-removed: 40%\n")
	b.WriteString("-- examples/showcase.lace --\n" + showcase)
	return b.String(), commands
}

var number = regexp.MustCompile(`\d[\d,.]*`)

// prints wants a line of stdout or stderr, whatever its numbers.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: prints LINE")
	}
	printed := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for line := range strings.Lines(printed) {
		if number.ReplaceAllString(strings.TrimRight(line, "\n"), "0") == number.ReplaceAllString(args[0], "0") {
			return
		}
	}
	ts.Fatalf("no line %q in\n%s", args[0], printed)
}

// generate runs scripts/mkroot, as the README shows it.
func generate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: generate FLAGS ROOT")
	}
	at := len(args) - 1
	made := exec.Command("go", append([]string{"run", "./scripts/mkroot"}, append(args[:at:at], ts.MkAbs(args[at]))...)...)
	made.Dir = ".."
	out, err := made.CombinedOutput()
	if err != nil {
		ts.Fatalf("mkroot: %v\n%s", err, out)
	}
	fmt.Fprint(ts.Stdout(), strings.ReplaceAll(string(out), ts.MkAbs(".")+string(filepath.Separator), ""))
}
