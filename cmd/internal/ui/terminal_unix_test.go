//go:build unix

package ui_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/lace-store/lace/cmd/internal/terminal"
	"github.com/lace-store/lace/cmd/internal/ui"
)

// tty is a pseudo-terminal whose screen the test looks at.
type tty struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	screen *terminal.Screen
}

func newTTY(t *testing.T, width int) *tty {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = slave.Close(), master.Close() })
	y := &tty{t, master, slave, terminal.New(width)}
	y.resize(width)
	return y
}

func (y *tty) resize(width int) {
	y.t.Helper()
	y.settle()
	if err := pty.Setsize(y.master, &pty.Winsize{Rows: 24, Cols: uint16(width)}); err != nil {
		y.t.Fatal(err)
	}
	if width > 0 { // 0 is a terminal that does not tell
		y.screen.Resize(width)
	}
}

// settle shows what was written until now: a mark is written behind it and
// read up to, so that nothing depends on time.
func (y *tty) settle() {
	y.t.Helper()
	const mark = '\x00'
	if _, err := y.slave.Write([]byte{mark}); err != nil {
		y.t.Fatal(err)
	}
	var text []byte
	for b := make([]byte, 1); ; text = append(text, b...) {
		if _, err := io.ReadFull(y.master, b); err != nil {
			y.t.Fatal(err)
		}
		if b[0] == mark {
			break
		}
	}
	_, _ = y.screen.Write(text) // it never fails
}

// row is what is drawn now.
func (y *tty) row() string {
	y.settle()
	return y.screen.Row()
}

// On a terminal of any width the line of a phase is drawn over and over in one
// row, and what stays at the end is a line for each phase and what was logged.
func TestBarOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	for _, width := range []int{250, 80, 60, 40, 20, 9, 2, 1} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			y := newTTY(t, width)
			c := newClock()
			p := ui.NewProgress(y.slave, ui.ProgressAuto, c.now)
			before := 1
			drawn := func(what string) {
				t.Helper()
				row := y.row()
				if y.screen.Rows() != before {
					t.Errorf("%s goes on in another row: %q", what, y.screen.Lines())
				}
				if width > len("move 95.0%") && !strings.HasPrefix(row, what) || len(row) >= width {
					t.Errorf("the row of %s is %q", what, row)
				}
			}
			p.Enter("open")
			beats(p, c, 5*time.Second)
			drawn("open")
			for i := range uint64(20) {
				p.Update("move", i<<20, 20<<20, "bytes")
				c.advance(3 * time.Second)
				if i == 0 {
					y.settle()
					before = y.screen.Rows() // what stays of a phase may be longer than a row
				}
				drawn("move")
			}
			c.advance(time.Second)
			p.Print(func(w io.Writer) { fmt.Fprintln(w, "lace: warning: a line between") })
			p.Beat()
			p.Line()
			p.Update("move", 20<<20, 20<<20, "bytes")
			p.Close()
			y.settle()
			want := []string{
				"lace: open in 5s",
				"lace: warning: a line between",
				"lace: move: 19 MiB of 20 MiB (95.0%), 1m1s so far",
				"lace: move: 20 MiB of 20 MiB (100.0%) in 1m1s",
			}
			if got := y.screen.Lines(); !slices.Equal(got, want) {
				t.Errorf("the screen has %q, want %q", got, want)
			}
			if !y.screen.AtLineStart() {
				t.Error("the cursor is not at the start of a line")
			}
			if err := y.screen.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A line has what there is room for: the bar first goes, then the counts, then
// the times. It is not longer than a window that is made narrower may be.
func TestBarLine(t *testing.T) {
	t.Setenv("TERM", "xterm")
	const usual = "move     30 MiB of 100 MiB  30.0% [======>...................] 30s, 1m10s to go"
	for width, want := range map[int]string{
		300: usual,
		81:  usual,
		80:  usual,
		79:  "move     30 MiB of 100 MiB  30.0% [======>..................] 30s, 1m10s to go",
		0:   usual, // it does not tell
		62:  "move     30 MiB of 100 MiB  30.0% [=>......] 30s, 1m10s to go",
		61:  "move     30 MiB of 100 MiB  30.0% 30s, 1m10s to go",
		51:  "move     30 MiB of 100 MiB  30.0% 30s, 1m10s to go",
		50:  "move 30.0% 30s, 1m10s to go",
		28:  "move 30.0% 30s, 1m10s to go",
		27:  "move 30.0%",
		11:  "move 30.0%",
		10:  "30.0%",
		5:   "30.0",
		1:   "",
	} {
		y := newTTY(t, 80)
		y.resize(width)
		c := newClock()
		p := ui.NewProgress(y.slave, ui.ProgressBar, c.now)
		p.Update("move", 0, 100<<20, "bytes")
		c.advance(30 * time.Second)
		p.Update("move", 30<<20, 100<<20, "bytes")
		if got := y.row(); got != want {
			t.Errorf("in %d columns:\n%q\nwant:\n%q", width, got, want)
		}
	}
}

// A terminal that gets another width in mid-run is followed from the next beat
// on, whatever happens next.
func TestBarFollowsTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for _, next := range []string{"nothing", "a message", "a line", "a phase"} {
		t.Run(next, func(t *testing.T) {
			y := newTTY(t, 120)
			c := newClock()
			p := ui.NewProgress(y.slave, ui.ProgressBar, c.now)
			p.Update("move", 0, 100, "rows")
			for i, width := range []int{120, 30, 200, 12, 70} {
				y.resize(width)
				switch next {
				case "a message":
					p.Print(func(w io.Writer) { fmt.Fprintln(w, "message") })
				case "a line":
					p.Line()
				case "a phase":
					p.Enter(fmt.Sprint("phase", i))
				}
				y.settle()
				rows := y.screen.Rows()
				beats(p, c, ui.BeatInterval)
				row := y.row()
				if len(row) >= width || y.screen.Rows() != rows {
					t.Errorf("in %d columns it is in row %d, not %d: %q", width, y.screen.Rows(), rows, row)
				}
				if next == "nothing" && width >= 70 && !strings.Contains(row, "[") {
					t.Errorf("there is no bar in %d columns: %q", width, row)
				}
			}
			p.Close()
			y.settle()
			for _, line := range y.screen.Lines() {
				if line != "message" && !strings.HasPrefix(line, "lace: ") {
					t.Errorf("%q is left: %q", line, y.screen.Lines())
				}
			}
			if err := y.screen.Err(); err != nil || !y.screen.AtLineStart() {
				t.Errorf("the cursor is at %q (%v)", y.screen.Row(), err)
			}
		})
	}
}

// A terminal that understands nothing gets lines alone, and so does a file even
// when a bar is asked for. A bar that is asked for on such a terminal needs
// nothing but the carriage return.
func TestNoBarWithoutATerminal(t *testing.T) {
	const lines = `lace: open: 30s so far
lace: open in 31s
lace: move: 1 of 2 rows (50.0%) in 1s
`
	show := func(p *ui.Progress, c *clock) {
		p.Enter("open")
		beats(p, c, 31*time.Second)
		p.Update("move", 1, 2, "rows")
		beats(p, c, time.Second)
	}
	for _, term := range []string{"dumb", ""} {
		t.Setenv("TERM", term)
		y := newTTY(t, 80)
		c := newClock()
		p := ui.NewProgress(y.slave, ui.ProgressAuto, c.now)
		show(p, c)
		p.Close()
		y.settle()
		wantText(t, strings.Join(y.screen.Lines(), "\n")+"\n", lines)
		y = newTTY(t, 80)
		p = ui.NewProgress(y.slave, ui.ProgressBar, c.now)
		show(p, c)
		wantText(t, y.row(), "move     1 of 2 rows  50.0% [======================>.......................] 1s")
		if err := y.screen.Err(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("TERM", "xterm")
	for _, mode := range []string{ui.ProgressAuto, ui.ProgressBar} {
		log := filepath.Join(t.TempDir(), "log")
		f, err := os.Create(log)
		if err != nil {
			t.Fatal(err)
		}
		c := newClock()
		p := ui.NewProgress(f, mode, c.now)
		show(p, c)
		p.Close()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, string(text), lines)
	}
}

// A display whose terminal has gone away ends nothing.
func TestTerminalGone(t *testing.T) {
	t.Setenv("TERM", "xterm")
	y := newTTY(t, 80)
	c := newClock()
	p := ui.NewProgress(y.slave, ui.ProgressAuto, c.now)
	p.Update("move", 0, 2, "rows")
	if err := y.master.Close(); err != nil {
		t.Fatal(err)
	}
	beats(p, c, time.Minute)
	p.Update("move", 2, 2, "rows")
	p.Line()
	p.Close()
	if _, err := y.slave.Write([]byte("x")); err == nil {
		t.Error("the terminal is still there")
	}
}
