//go:build unix

package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/lace-store/lace/cmd/internal/terminal"
)

// onTerminal is a lace process on a pseudo-terminal. What it says is kept as it
// was written.
type onTerminal struct {
	*started
	master *os.File
	shown  chan struct{} // closed when all it said was read
}

func startOnTerminal(t *testing.T, width uint16, env []string, args ...string) *onTerminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: width}); err != nil {
		t.Fatal(err)
	}
	o := &onTerminal{
		started: &started{Cmd: exec.Command("lace", args...), ended: make(chan struct{})},
		master:  master, shown: make(chan struct{}),
	}
	t.Cleanup(func() { _ = master.Close() })
	o.Dir = t.TempDir() // no configuration lies here
	o.Stdout, o.Stderr = slave, slave
	o.Env = append(os.Environ(), env...)
	return o
}

// begin starts the process; its standard input is set before.
func (o *onTerminal) begin(t *testing.T) {
	t.Helper()
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	// When the process has ended, nobody has the terminal open, and reading ends.
	if err := o.Stderr.(*os.File).Close(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(o.shown)
		for b := make([]byte, 4096); ; {
			n, err := o.master.Read(b)
			_, _ = o.out.Write(b[:n]) // memory takes everything
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = o.Wait() // the exit code is asked for
		close(o.ended)
	}()
}

// said is all that the process wrote, once it has ended with exit code 0.
func (o *onTerminal) said(t *testing.T) string {
	t.Helper()
	code := o.code()
	<-o.shown
	if code != 0 {
		t.Fatalf("lace %s exits %d:\n%q", strings.Join(o.Args[1:], " "), code, o.out.String())
	}
	return o.out.String()
}

// drawn are the lines that were drawn over: a carriage return precedes them and
// no end of line follows. What only erases is none.
func drawn(said string) []string {
	var lines []string
	parts := strings.Split(said, "\r")
	for i, part := range parts[1:] {
		forGood := i+2 < len(parts) && strings.HasPrefix(parts[i+2], "\n")
		if text := strings.TrimRight(strings.TrimSuffix(part, "\x1b[K"), " "); text != "" && !strings.HasPrefix(text, "\n") && !forGood {
			lines = append(lines, text)
		}
	}
	return lines
}

// compactionPhases are those of a run with --verify, in their order.
var compactionPhases = []string{"open", "sweep", "count", "plan", "move", "publish", "release", "open", "verify"}

var phaseEnd = regexp.MustCompile(`^lace: ([a-z]+)(?:: .* of .* \(100\.0%\))? in [0-9.msµ]+$`)

// phasesOf are the phases whose ends some lines tell.
func phasesOf(lines []string) []string {
	var phases []string
	for _, line := range lines {
		if m := phaseEnd.FindStringSubmatch(line); m != nil {
			phases = append(phases, m[1])
		}
	}
	return phases
}

// On a real terminal, whatever it is, a run leaves a line for each phase and its
// result, no line of the bar, and the cursor where a shell wants it.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	root, policy, _ := phaseRoot(t)
	for _, c := range []struct {
		name  string
		width uint16
		env   []string
		args  []string
		bar   bool
		quiet bool
	}{
		{"wide", 200, []string{"TERM=xterm"}, nil, true, false},
		{"usual", 80, []string{"TERM=xterm"}, nil, true, false},
		{"narrow", 24, []string{"TERM=xterm"}, nil, true, false},
		{"very narrow", 3, []string{"TERM=xterm"}, nil, true, false},
		{"of no width", 0, []string{"TERM=xterm"}, nil, true, false},
		{"without colour", 80, []string{"TERM=xterm-256color", "NO_COLOR=1"}, nil, true, false},
		{"dumb", 80, []string{"TERM=dumb"}, nil, false, false},
		{"unknown", 80, []string{"TERM="}, nil, false, false},
		{"dumb, a bar is asked for", 80, []string{"TERM=dumb"}, []string{"--progress", "bar"}, true, false},
		{"lines are asked for", 80, []string{"TERM=xterm"}, []string{"--progress", "plain"}, false, false},
		{"quiet", 80, []string{"TERM=xterm"}, []string{"-q", "--progress", "bar"}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			work := filepath.Join(t.TempDir(), "root")
			clone(t, root, work)
			o := startOnTerminal(t, c.width, c.env, append(c.args, "compact", work, "-p", policy, "--verify")...)
			o.begin(t)
			said := o.said(t)
			if c.quiet {
				if said != "" {
					t.Errorf("it says %q", said)
				}
				return
			}
			width := int(c.width)
			if width == 0 {
				width = 80
			}
			screen := terminal.New(width)
			_, _ = screen.Write([]byte(said)) // it never fails
			if err := screen.Err(); err != nil || !screen.AtLineStart() {
				t.Errorf("the cursor is behind %q, %v:\n%q", screen.Row(), err, said)
			}
			if got := phasesOf(screen.Lines()); !slices.Equal(got, compactionPhases) {
				t.Errorf("the screen tells the phases %v, want %v:\n%s", got, compactionPhases, strings.Join(screen.Lines(), "\n"))
			}
			if !slices.Contains(c.env, "TERM=xterm") && !slices.Contains(c.env, "TERM=xterm-256color") && strings.Contains(said, "\x1b") {
				t.Errorf("it has escapes, which this terminal may not know: %q", said)
			}
			lines := drawn(said)
			if (len(lines) > 0) != c.bar {
				t.Errorf("the bar was %q", lines)
			}
			for _, line := range lines {
				if len(line) >= width {
					t.Errorf("%q is longer than %d columns", line, width)
				}
				if slices.Contains(screen.Lines(), line) {
					t.Errorf("%q is left on the screen", line)
				}
			}
		})
	}
}

// A terminal that is made narrower in mid-run: the next beat keeps to the new
// width. The run waits for its input meanwhile.
func TestRunOnAResizedTerminal(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	if err := fillRoot(root, 1<<20, &plain{count: 4, size: 100}); err != nil {
		t.Fatal(err)
	}
	o := startOnTerminal(t, 120, []string{"TERM=xterm"}, "admit", root)
	in, err := o.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.begin(t)
	row := func() string { // the last line that was drawn
		lines := drawn(o.out.String())
		if len(lines) == 0 {
			return ""
		}
		return lines[len(lines)-1]
	}
	if !o.await(func() bool { return strings.HasPrefix(row(), "admit    ") }) {
		t.Fatalf("it did not wait for its input: %q", o.out.String())
	}
	for _, c := range []struct {
		width uint16
		want  *regexp.Regexp
	}{
		{9, regexp.MustCompile(`^admit$`)},
		{4, regexp.MustCompile(`^adm$`)},
		{200, regexp.MustCompile(`^admit    \d+s$`)},
	} {
		if err := pty.Setsize(o.master, &pty.Winsize{Rows: 24, Cols: c.width}); err != nil {
			t.Fatal(err)
		}
		if !o.await(func() bool { return c.want.MatchString(row()) }) {
			t.Fatalf("it ended in %d columns: %q", c.width, o.out.String())
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	said := o.said(t)
	screen := terminal.New(120)
	_, _ = screen.Write([]byte(said)) // it never fails
	if err := screen.Err(); err != nil || !screen.AtLineStart() || slices.Contains(screen.Lines(), row()) {
		t.Errorf("the screen has %q, %v", screen.Lines(), err)
	}
}

// A log file gets lines and no control character, whatever is asked for and
// whatever the terminal of the session is.
func TestLogHasNoControls(t *testing.T) {
	t.Parallel()
	root, policy, _ := phaseRoot(t)
	for _, progress := range []string{"auto", "bar", "plain"} {
		dir := t.TempDir()
		work, log := filepath.Join(dir, "root"), filepath.Join(dir, "log")
		clone(t, root, work)
		f, err := os.Create(log)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("lace", "compact", work, "-p", policy, "--verify", "--progress", progress)
		c.Dir, c.Stdout, c.Stderr = dir, f, f
		c.Env = append(os.Environ(), "TERM=xterm-256color")
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(string(text), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
			t.Errorf("--progress %s writes controls: %q", progress, text)
		}
		if got := phasesOf(strings.Split(string(text), "\n")); !slices.Equal(got, compactionPhases) {
			t.Errorf("--progress %s tells the phases %v, want %v:\n%s", progress, got, compactionPhases, text)
		}
	}
}
