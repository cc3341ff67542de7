package cmd_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lace-store/lace/cmd"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/lmdb"
)

// lace runs the real command line in a process of its own: the test binary is
// executed again under this name.
func lace() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func TestMain(m *testing.M) {
	commands := map[string]func(){"lace": lace}
	addCommands(commands)
	if commands[filepath.Base(os.Args[0])] == nil { // these are the tests, not a command of theirs
		childrenHeedSignals()
	}
	testscript.Main(m, commands)
}

// TestScript runs the archives of testdata/script, each in a directory and
// processes of its own.
func TestScript(t *testing.T) {
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			h := &held{}
			e.Values[heldKey{}] = h
			e.Defer(func() {
				if err := h.all(); err != nil {
					t.Error(err)
				}
			})
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"document":  document,
			"oneline":   oneline,
			"lines":     lines,
			"jsonlines": jsonLines,
			"clean":     clean,
			"mkroot":    mkroot,
			"interrupt": interrupt,
			"follow":    follow,
			"damage":    damage,
			"snapshot":  snapshot,
			"unchanged": unchanged,
			"lock":      lock,
			"unlock":    unlock,
			"livemap":   livemap,
			"hostile":   hostile,
			"digest":    digest,
			"large":     large,
			"cut":       cut,
		},
	})
}

// condition serves [lmdb]; [mount]: whether a script can mount in a namespace of
// its own; and [user]: whether it can run a program as another user.
func condition(name string) (bool, error) {
	asRoot := func(line ...string) bool {
		return runtime.GOOS == "linux" && os.Geteuid() == 0 && exec.Command(line[0], line[1:]...).Run() == nil
	}
	switch name {
	case "lmdb":
		return lmdb.Built, nil
	case "mount":
		return asRoot("unshare", "-m", "true"), nil
	case "user":
		return asRoot("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "true"), nil
	}
	return false, errors.New("unknown condition " + strconv.Quote(name))
}

// exits runs a program and wants exactly this exit code: `exits 10 lace ...`.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	if args[1] == "lace" {
		validOutput(ts, args[2:])
	}
}

// phaseLine is a line of progress, or of waiting.
var phaseLine = regexp.MustCompile(`(?m)^lace: (?:(?:open|sweep|count|plan|move|publish|reload|release|verify|indexes|export|admit)(?:: .* of .*)? in .*|waiting for .*)\n`)

// oneline wants stderr to be an error of one line, with at most one line of a
// hint behind it, and no usage text. Lines of progress do not count.
func oneline(ts *testscript.TestScript, neg bool, args []string) {
	text := phaseLine.ReplaceAllString(ts.ReadFile("stderr"), "")
	all := strings.SplitAfter(text, "\n")
	switch {
	case neg || len(args) > 0:
		ts.Fatalf("usage: oneline")
	case len(all) == 2 && all[1] == "":
	case len(all) == 3 && all[2] == "" && strings.HasPrefix(all[1], "lace: hint: "):
	default:
		ts.Fatalf("stderr is not one line and at most one hint:\n%s", text)
	}
	if !strings.HasPrefix(all[0], "lace: ") || strings.Contains(text, "Usage:") {
		ts.Fatalf("not an error of lace:\n%s", text)
	}
}

// lines wants a file, or stdout or stderr, to have exactly so many lines.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}

// jsonLines wants every line of a file, or of stdout or stderr, to be a JSON
// object: `jsonlines stderr`.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%s has a line that is no JSON object: %v\n%s", args[0], err, line)
		}
	}
}

// clean wants stdout and stderr to carry no control characters but line
// breaks.
func clean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: clean")
	}
	for _, name := range []string{"stdout", "stderr"} {
		for _, r := range ts.ReadFile(name) {
			if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' || r == '\ufffd') {
				ts.Fatalf("%s carries %U:\n%q", name, r, ts.ReadFile(name))
			}
		}
	}
}

// large writes the policies that are larger than policies may be: a module of
// more than 1 MiB (the argument), and beside it one of too many rules, one with
// too long a constant and one that is not in the normal form of Unicode.
func large(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: large FILE")
	}
	const rule = "SelectStoredRecord(R) :- Field(R,'Half',_,'a').\n"
	for name, text := range map[string]string{
		args[0]:         rule + "%" + strings.Repeat(" ", policy.MaxModuleBytes),
		"rules.lace":    strings.Repeat(rule, 10_001),
		"constant.lace": "SelectStoredRecord(R) :- Field(R,'Half',_,'" + strings.Repeat("a", 4097) + "').\n",
		"nfd.lace":      "SelectStoredRecord(R) :- Field(R,'Half',_,'a\u0308').\n",
	} {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o666))
	}
}
