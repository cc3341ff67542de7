package cmd

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// versionText names the build and the profiles it serves.
func versionText() string {
	version, commit := "development", "unknown commit"
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				commit = setting.Value
			}
		}
	}
	return fmt.Sprintf("lace %s (%s)\nprofiles: %s", version, commit, strings.Join(profileWords(), ", "))
}
