package cmd

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lace-store/lace/cmd/internal/ui"
)

// settingBody is one flag with the value it has unless the command line sets
// it, and where that comes from.
type settingBody struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`
	Source   string   `json:"source"` // default, environment NAME or file PATH
	Commands []string `json:"commands"`
}

type configDocument struct {
	head
	Settings []settingBody `json:"settings"`
	// Ignored are variables that look like settings and set nothing.
	Ignored []string `json:"ignored_variables"`
}

func newConfigCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings and where each comes from",
		Long: `Config prints the value that every flag has when the command line does not
set it, and whether that is the default, an environment variable or a
configuration file. The weakest source is the default; then, each stronger
than the one before, /etc/lace/lace.yaml, lace.yaml in the user's
configuration directory, ./lace.yaml, the --config file, the environment
(LACE_ and the flag's name in capitals), and the flag itself.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("config takes no arguments, got %d", len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			doc := &configDocument{head: newHead("config", ""), Settings: []settingBody{}, Ignored: []string{}}
			return s.emit(doc, doc.fill(c.Root(), s.global.config))
		},
	}
}

func (d *configDocument) fill(root *cobra.Command, explicit string) error {
	known := knownFlags(root)
	slices.Sort(known)
	settings, err := readConfig(known, explicit)
	if err != nil {
		return &usageError{err}
	}
	for _, name := range known {
		flag, commands := flagOf(root, name)
		body := settingBody{Name: name, Value: flag.DefValue, Source: "default", Commands: commands}
		if source := settings.source(name); source != "" {
			body.Source = source
			if err := effective(flag, settings); err != nil {
				return &usageError{err}
			}
			body.Value = flag.Value.String()
		}
		d.Settings = append(d.Settings, body)
	}
	d.Ignored = ignoredVariables(known)
	return nil
}

// flagOf returns a flag and the commands that have it; a flag of all commands
// names none.
func flagOf(root *cobra.Command, name string) (*pflag.Flag, []string) {
	flag, commands := root.PersistentFlags().Lookup(name), []string{}
	if flag != nil {
		return flag, commands
	}
	for _, c := range leaves(root) {
		if f := c.Flags().Lookup(name); f != nil {
			flag, commands = f, append(commands, strings.TrimPrefix(c.CommandPath(), root.Name()+" "))
		}
	}
	return flag, commands
}

// effective sets the flag as a run of its command would.
func effective(flag *pflag.Flag, settings configuration) error {
	if flag.Changed {
		return nil // a global flag, which was set before this command ran
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlag(flag)
	return setFlag(flags, flag, settings.Viper)
}

// ignoredVariables lists the variables that begin like settings and name no
// flag, so that a misspelt one is found.
func ignoredVariables(known []string) []string {
	ignored := []string{}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		isFlag := func(flag string) bool { return envName(flag) == name }
		if strings.HasPrefix(name, envPrefix) && name != envName("config") && !slices.ContainsFunc(known, isFlag) {
			ignored = append(ignored, name)
		}
	}
	slices.Sort(ignored)
	return ignored
}

func (d *configDocument) text(w io.Writer) {
	for _, s := range d.Settings {
		fmt.Fprintf(w, "%s: %s  (%s)\n", s.Name, ui.Quote(s.Value), ui.OneLine(s.Source))
	}
	for _, name := range d.Ignored {
		fmt.Fprintf(w, "ignored: %s names no setting\n", ui.OneLine(name))
	}
}
