// Package cmd is the command line of lace: one file per command, which turns
// flags into typed options, runs one operation of pkg/ and renders its report.
// It does not decide anything about records, policies or files itself.
package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// session is what every command of one run shares.
type session struct {
	streams  ui.Streams
	fs       vfs.FS
	now      func() time.Time
	global   globalOptions
	progress *ui.Progress
	log      *ui.Log
	began    time.Time
	idle     bool // the disk access of this process is in the idle class
	emitted  bool // a JSON document is on stdout already
}

// globalOptions are the flags that every command has.
type globalOptions struct {
	json      bool
	quiet     bool
	verbose   bool
	progress  string
	logFormat string
	config    string
}

// Main runs the command line args and returns the exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	s := &session{
		streams: ui.Streams{In: in, Out: out, Err: errOut},
		fs:      osfs.New(),
		now:     time.Now,
	}
	beats := time.NewTicker(ui.BeatInterval)
	defer beats.Stop()
	return s.main(args, beats.C)
}

// main is Main of a session that has its streams, file system and clock. Each of
// the beats lets the display show where the run is.
func (s *session) main(args []string, beats <-chan time.Time) int {
	// Nothing is shown until the flags say how.
	s.progress = ui.NewProgress(s.streams.Err, ui.ProgressNone, s.now)
	s.log = ui.NewLog(s.progress, s.now)
	s.began = s.now()
	ctx, stop := stopOnSignal(context.Background())
	defer stop()
	s.streams.In = newStoppableReader(ctx, s.streams.In)
	defer showOnSignal(s.progress.Line)()
	defer s.progress.Beats(beats)()
	root := newRootCommand(s)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	s.progress.Close()
	s.report(command, args, err)
	return exitCode(err)
}

func newRootCommand(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:   "lace",
		Short: "Compact a Lace root in place, keeping what retention policies select",
		Long: `lace removes, offline and in place, the records of a Lace root that no
retention policy selects, and gives their bytes back to the file system. A
run that is interrupted at any moment is finished by "lace resume ROOT".`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unknown command %q%s", args[0], suggestion(c, args[0]))}
			}
			return nil
		},
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return s.prepare(c) },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetIn(s.streams.In)
	root.SetOut(s.streams.Out)
	root.SetErr(s.streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	flags := root.PersistentFlags()
	flags.BoolVar(&s.global.json, "json", false, "write exactly one JSON document to stdout")
	flags.BoolVarP(&s.global.quiet, "quiet", "q", false, "no progress, and no text but errors")
	flags.BoolVarP(&s.global.verbose, "verbose", "v", false, "say in detail what is done, and with which settings")
	flags.StringVar(&s.global.logFormat, "log-format", ui.LogText, "how to write the log on stderr: text, or json, an object a line")
	flags.StringVar(&s.global.progress, "progress", ui.ProgressAuto, "how to show progress: auto, bar, plain, json or none")
	flags.StringVar(&s.global.config, "config", "", "read settings from this YAML `file`")
	root.AddCommand(
		newCompactCommand(s), newResumeCommand(s), newSweepCommand(s),
		newVerifyCommand(s), newInspectCommand(s), newAdmitCommand(s),
		newExportCommand(s), newPolicyCommand(s), newConfigCommand(s), newExitCodesTopic(),
	)
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}

func suggestion(c *cobra.Command, word string) string {
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return "; see lace --help"
}

// prepare applies the configuration to the flags of the command about to run
// and checks the global ones.
func (s *session) prepare(c *cobra.Command) error {
	if err := applyConfig(c, s.global.config); err != nil {
		return &usageError{err}
	}
	for _, choice := range []struct {
		flag, value string
		values      []string
	}{
		{"progress", s.global.progress, ui.ProgressModes()},
		{"log-format", s.global.logFormat, ui.LogFormats()},
	} {
		if !slices.Contains(choice.values, choice.value) {
			return &usageError{fmt.Errorf("--%s %q: want one of %s", choice.flag, choice.value, strings.Join(choice.values, ", "))}
		}
	}
	s.progress.SetMode(s.progressMode())
	s.log.Configure(s.global.logFormat, s.global.quiet, s.global.verbose)
	s.logSettings(c)
	return nil
}

// progressMode is how progress is shown. Where the log is JSON, a line of
// another kind would be noise to whoever reads it.
func (s *session) progressMode() string {
	switch {
	case s.global.quiet:
		return ui.ProgressNone
	case s.global.progress == ui.ProgressAuto && s.global.logFormat == ui.LogJSON:
		return ui.ProgressJSON
	}
	return s.global.progress
}

// report says on stderr what went wrong, on one line (a policy: on a line for
// each mistake), and what to do next; in JSON mode it makes sure that stdout
// carries a document.
func (s *session) report(c *cobra.Command, args []string, err error) {
	if err == nil {
		return
	}
	if slices.Contains(args, "--log-format=json") || followed(args, "--log-format", ui.LogJSON) {
		s.log.Configure(ui.LogJSON, s.global.quiet, s.global.verbose)
	}
	lines := errorLines(err)
	for i, line := range lines {
		entry := ui.Line{Level: ui.Failure, Message: line, Kind: errorKind(err), ExitCode: exitCode(err)}
		if i == len(lines)-1 {
			entry.Hint = hintOf(err)
		}
		s.log.Write(entry)
	}
	// A flag error can come before the flags are read.
	if (s.global.json || slices.Contains(args, "--json")) && !s.emitted {
		name := "lace"
		if c != nil && c.HasParent() {
			_, path, _ := strings.Cut(c.CommandPath(), " ")
			name = strings.ReplaceAll(path, " ", "-")
		}
		doc := newHead(name, "")
		doc.fail(err)
		doc.stamp(s.began, s.now())
		// stdout may be gone; the exit code carries the verdict all the same.
		_ = ui.WriteJSON(s.streams.Out, &doc)
	}
}

// followed reports whether word is followed by value.
func followed(args []string, word, value string) bool {
	i := slices.Index(args, word)
	return i >= 0 && i+1 < len(args) && args[i+1] == value
}

// rooted wraps the one positional argument ROOT.
func rooted(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Errorf("%s takes exactly one ROOT, got %d arguments", c.CommandPath(), len(args))}
	}
	return nil
}

func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("The exit codes of lace:\n\n")
	rows := exitTable()
	slices.SortFunc(rows, func(a, b exitRow) int { return a.code - b.code })
	for _, row := range rows {
		fmt.Fprintf(&b, "  %3d  %s\n", row.code, row.meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of lace", Long: b.String()}
}
