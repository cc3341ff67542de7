package cmd

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// The generator is no part of lace, and whatever is packed into a release needs
// a command; make docs runs this test with a directory.
var manDir = flag.String("man-dir", "", "write the manual pages into this directory")

// Every command has a manual page that tells all of its flags.
func TestManualPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	s := &session{streams: ui.Streams{Out: io.Discard, Err: io.Discard}, fs: osfs.New(), now: time.Now}
	s.progress = ui.NewProgress(io.Discard, ui.ProgressNone, s.now)
	root := newRootCommand(s)
	root.DisableAutoGenTag = true
	// The pages of one commit are the same bytes whenever they are made.
	date := time.Unix(0, 0).UTC()
	header := &doc.GenManHeader{Title: "LACE", Section: "1", Source: "lace", Manual: "Lace", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			check(child)
		}
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			return
		}
		pages++
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Fatal(err)
		}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !bytes.Contains(page, []byte("--"+f.Name)) {
				t.Errorf("the page of %s does not tell --%s", c.CommandPath(), f.Name)
			}
		})
		if !bytes.Contains(page, []byte(c.Short)) {
			t.Errorf("the page of %s lacks %q", c.CommandPath(), c.Short)
		}
	}
	check(root)
	if pages < 11 {
		t.Errorf("%d manual pages", pages)
	}
}
