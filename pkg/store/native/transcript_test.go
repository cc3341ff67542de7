package native_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files and tables")

func transcripts() profiletest.Transcripts {
	return profiletest.Transcripts{Subject: subject, Update: *update, Leave: func(t *testing.T, f *crashfs.FS) {
		staging := filepath.Join(profiletest.Dir, root.Staging)
		must(t, f.Mkdir(staging))
		put(t, f, filepath.Join(staging, "1"), "staged")
	}}
}

// TestTranscriptsOfAStore pins the order of durability of everything but a
// compaction.
func TestTranscriptsOfAStore(t *testing.T) {
	for _, s := range transcripts().LogSessions(t, root.NativeMarker) {
		t.Run(s.Name, func(t *testing.T) { transcripts().Run(t, s) })
	}
}

// TestTranscriptsOfACompaction pins the order of durability of a compaction,
// and of the resume from every phase.
func TestTranscriptsOfACompaction(t *testing.T) {
	transcripts().Compaction(t, profiletest.Phases(append(profiletest.LogPhases(),
		profiletest.Phase{Name: "e-release", Op: faultfs.Punch, Path: root.Records, Nth: 1},
	)...))
}
