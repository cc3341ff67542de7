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
	settings.SetEnvPrefix("LACE")
	settings.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	settings.AutomaticEnv()
	var failed error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Changed || !slices.Contains(known, f.Name) || !settings.IsSet(f.Name) {
			return
		}
		failed = setFlag(c.Flags(), f, settings)
	})
	return failed
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
	for _, sub := range root.Commands() {
		sub.Flags().VisitAll(collect)
	}
	return names
}

// readConfig merges the configuration files, the weakest first: a setting of
// a later file wins. The --config file must exist, the usual ones need not.
func readConfig(known []string, explicit string) (*viper.Viper, error) {
	merged := viper.New()
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
			return nil, fmt.Errorf("configuration %s: %w", path, err)
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("configuration %s: not a regular file", path)
		}
		file := viper.New()
		file.SetConfigFile(path)
		file.SetConfigType("yaml")
		if err := file.ReadInConfig(); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", path, err)
		}
		for _, key := range file.AllKeys() {
			if !slices.Contains(known, key) {
				return nil, fmt.Errorf("configuration %s: unknown key %q", path, key)
			}
		}
		if err := merged.MergeConfigMap(file.AllSettings()); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", path, err)
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
