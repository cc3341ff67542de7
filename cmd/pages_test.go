package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// pages are the documents whose command lines are run.
var pages = []string{"operations.md", "recovery.md"}

// Every command line that a page shows works as it is printed.
//
// A block ```console has command lines behind "$ ", which exit 0 unless they
// end with "# exit N", and lines of output, which must be printed (any number
// stands for any other). A comment <!-- script has lines that are run as they
// are, to bring about what the page talks of.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		script, commands := scriptOf(string(text))
		if commands < 3 {
			t.Errorf("%s shows %d commands", page, commands)
		}
		name := strings.TrimSuffix(page, ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "mkroot": mkroot, "interrupt": interrupt, "damage": damage, "prints": prints,
		},
	})
}

var exitComment = regexp.MustCompile(`\s+# exit (\d+)$`)

// scriptOf turns a page into a script, and counts the command lines.
func scriptOf(page string) (script string, commands int) {
	var b strings.Builder
	// The places that the pages speak of lie in the script's own directory.
	local := strings.NewReplacer("/srv/", "srv/", "/etc/lace/", "etc/", "/var/lib/lace/", "var/")
	b.WriteString("mkdir srv var\n")
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
			fmt.Fprintln(&b, "exits", code, local.Replace(line[len("$ "):]))
			commands++
		case in == "```console" && strings.TrimSpace(line) != "...":
			fmt.Fprintf(&b, "prints '%s'\n", strings.ReplaceAll(local.Replace(line), "'", "''"))
		}
	}
	b.WriteString("-- etc/keep.lace --\nSelectStoredRecord(R) :- Field(R,':Type',_,_).\n-- etc/lace.yaml --\nmax-removed: 40%\n")
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
