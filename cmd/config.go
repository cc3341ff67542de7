package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// applyConfig gives every flag that was not set on the command line the value
// of the environment (LACE_<FLAG>), of the --config file, or of the usual
// configuration files, in this order. A key that no command has as a flag is
// an error, so that a misspelt guard cannot be missed.
func applyConfig(c *cobra.Command, explicit string) error {
	known := knownFlags(c.Root())
	settings, err := readConfig(known, explicit)
	if err != nil {
		return err
	}
	var failed error
	overruled := overruledFlags(c.Flags())
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Changed || slices.Contains(overruled, f.Name) || !slices.Contains(known, f.Name) || !settings.IsSet(f.Name) {
			return
		}
		failed = setFlag(c.Flags(), f, settings.Viper)
	})
	return failed
}

// overruledFlags lists the flags that another one on the command line takes the
// place of: a run that names a kept file does not mean the configured policies.
func overruledFlags(flags *pflag.FlagSet) []string {
	switch {
	case flags.Changed("kept"):
		return append([]string{"policy", "param"}, evaluationFlags()...)
	case flags.Changed("policy"):
		return []string{"kept"}
	}
	return nil
}

// setFlag sets one flag from the configuration; a list sets it repeatedly.
func setFlag(flags *pflag.FlagSet, f *pflag.Flag, from *viper.Viper) error {
	values := []string{from.GetString(f.Name)}
	if _, isList := f.Value.(pflag.SliceValue); isList {
		values = from.GetStringSlice(f.Name)
	}
	for _, v := range values {
		if err := flags.Set(f.Name, v); err != nil {
			return fmt.Errorf("configuration of --%s: %w", f.Name, err)
		}
	}
	return nil
}

// knownFlags lists the flags that a configuration may set: those of every
// command, except the ones that ask for text instead of a run.
func knownFlags(root *cobra.Command) []string {
	var names []string
	collect := func(f *pflag.Flag) {
		if !slices.Contains([]string{"help", "version", "config"}, f.Name) && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	root.PersistentFlags().VisitAll(collect)
	for _, c := range leaves(root) {
		c.Flags().VisitAll(collect)
	}
	return names
}

// leaves lists the commands that do something themselves, at any depth.
func leaves(c *cobra.Command) []*cobra.Command {
	if !c.HasSubCommands() {
		return []*cobra.Command{c}
	}
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		all = append(all, leaves(sub)...)
	}
	return all
}

// envPrefix begins the name of every environment variable that sets a flag.
const envPrefix = "LACE_"

// envName returns the environment variable that sets a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configuration is what the environment and the configuration files say.
type configuration struct {
	*viper.Viper
	from map[string]string // the file that a key was last set in
}

// source says where the value of a key comes from; empty is nowhere.
func (c configuration) source(key string) string {
	// An empty variable counts as none, as it does for viper.
	if name := envName(key); os.Getenv(name) != "" {
		return "environment " + name
	}
	if path, ok := c.from[key]; ok {
		return "file " + path
	}
	return ""
}

// readConfig merges the configuration files, the weakest first: a setting of
// a later file wins, and the environment over all of them. The --config file
// must exist, the usual ones need not.
func readConfig(known []string, explicit string) (configuration, error) {
	merged := configuration{viper.New(), map[string]string{}}
	merged.SetEnvPrefix(strings.TrimSuffix(envPrefix, "_"))
	merged.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	merged.AutomaticEnv()
	if explicit == "" {
		explicit = os.Getenv("LACE_CONFIG")
	}
	for _, path := range configPlaces(explicit) {
		info, err := os.Stat(path)
		if path != explicit && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
			// What another user has at a usual place is none of this run's
			// settings: HOME is often inherited.
			continue
		}
		if err != nil {
			return merged, fmt.Errorf("configuration %s: %w", path, err)
		}
		if !info.Mode().IsRegular() {
			return merged, fmt.Errorf("configuration %s: not a regular file", path)
		}
		file := viper.New()
		file.SetConfigFile(path)
		file.SetConfigType("yaml")
		if err := file.ReadInConfig(); err != nil {
			return merged, fmt.Errorf("configuration %s: %w", path, err)
		}
		for _, key := range file.AllKeys() {
			if !slices.Contains(known, key) {
				return merged, fmt.Errorf("configuration %s: unknown key %q", path, key)
			}
			merged.from[key] = path
		}
		if err := merged.MergeConfigMap(file.AllSettings()); err != nil {
			return merged, fmt.Errorf("configuration %s: %w", path, err)
		}
	}
	return merged, nil
}

// configPlaces lists the configuration files, the weakest first.
func configPlaces(explicit string) []string {
	places := []string{"/etc/lace/lace.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "lace", "lace.yaml"))
	}
	places = append(places, "lace.yaml")
	if explicit != "" {
		places = append(places, explicit)
	}
	return places
}
