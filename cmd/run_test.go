package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// runOn runs a command line on a file system.
func runOn(fsys vfs.FS, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	s := &session{streams: ui.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, fs: fsys, now: time.Now}
	s.progress = ui.NewProgress(&e, ui.ProgressNone, s.now)
	s.log = ui.NewLog(s.progress, s.now)
	s.began = s.now()
	root := newRootCommand(s)
	root.SetArgs(append(args, "--progress", "none"))
	command, err := root.ExecuteContextC(context.Background())
	s.progress.Close()
	s.report(command, args, err)
	return exitCode(err), o.String(), e.String()
}

// mustRun wants a command line to end with 0 on the file system of the host.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errOut := runOn(osfs.New(), args...)
	if code != 0 {
		t.Fatalf("lace %s exits %d: %s", strings.Join(args, " "), code, errOut)
	}
	return out
}
