package node_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestCompactionSurvivesCrashes is the crash matrix of this profile.
func TestCompactionSurvivesCrashes(t *testing.T) {
	compacttest.Matrix(t, subject, compacttest.Options{First: 6 << 20, States: 2_000, Random: 4, Stride: 14})
}

// TestCompactionSurvivesSecondCrashes cuts the power at every call of the
// resume after a kill at every call.
func TestCompactionSurvivesSecondCrashes(t *testing.T) {
	compacttest.Matrix(t, subject, compacttest.Options{First: 7 << 20, States: 1_000, Stride: 40, EverySecond: true})
}

func TestEveryCallOfACompactionFails(t *testing.T) {
	subject.EveryCallOfACompactionFails(t, func(c faultfs.Call) bool {
		return strings.HasPrefix(c.Path, root.Indexes) // posting lists are acceleration
	})
}

func TestAdmissionSurvivesCrashes(t *testing.T)       { subject.AdmissionSurvivesCrashes(t) }
func TestAdmissionSurvivesFailedSyncs(t *testing.T)   { subject.AdmissionSurvivesFailedSyncs(t) }
func TestReconciliationAfterFailedCalls(t *testing.T) { subject.ReconciliationAfterFailedCalls(t) }
func TestFullDisk(t *testing.T)                       { subject.FullDisk(t) }
func TestRestoringSurvivesCrashes(t *testing.T)       { subject.RestoringSurvivesCrashes(t) }
func TestInterruptedCreationIsFinished(t *testing.T)  { subject.InterruptedCreationIsFinished(t) }

func TestWhatAnOpeningShowsIsDurable(t *testing.T) { subject.WhatAnOpeningShowsIsDurable(t) }

func TestTruncationOfATornRowIsDurable(t *testing.T) {
	subject.TruncationOfATornRowIsDurable(t)
}

func TestInterruptedCreationIsFinishedAfterASecondCrash(t *testing.T) {
	subject.InterruptedCreationIsFinishedAfterASecondCrash(t)
}

// TestIndexPublicationSurvivesCrashes: whatever is left of a publication, every
// query has the answer of a scan.
func TestIndexPublicationSurvivesCrashes(t *testing.T) { subject.IndexPublicationSurvivesCrashes(t) }

// A compaction that is refused has changed nothing.
func TestRefusedCompactionChangesNothing(t *testing.T) {
	subject.Refused(t, map[string]func(*testing.T, vfs.FS, string){
		"torn row": func(t *testing.T, _ vfs.FS, dir string) {
			profiletest.Edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(b, b[:63]...) })
		},
		"lost row": func(t *testing.T, _ vfs.FS, dir string) {
			profiletest.Edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { clear(b[len(b)-64:]); return b })
		},
		"leftovers": profiletest.Leftovers,
		"lists of another projection": func(t *testing.T, fsys vfs.FS, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, root.IndexStart+"v1"), 0o777))
			profiletest.Put(t, fsys, filepath.Join(dir, root.IndexStart+"v1", "a.ids"), "old")
		},
	})
}

func transcripts() profiletest.Transcripts {
	return profiletest.Transcripts{Subject: subject, Update: *update, Normalize: func(text string) string {
		// A pid is longer or shorter.
		return regexp.MustCompile(`write node-lock \[0, \d+\)`).ReplaceAllString(text, "write node-lock pid")
	}}
}

// TestTranscriptsOfAStore pins the order of durability of everything but a
// compaction.
func TestTranscriptsOfAStore(t *testing.T) {
	readOnly := profiletest.Session{
		Name: "open-read-only",
		Base: func(t *testing.T, f *crashfs.FS) { subject.MakeRoot(t, f, profiletest.Dir, profiletest.Blobs(0, 3)...) },
		Open: func(fsys vfs.FS) (profile.Store, error) {
			return subject.Profile.Open(t.Context(), profiletest.Dir, profile.Options{FS: fsys, ReadOnly: true})
		},
	}
	for _, s := range append(transcripts().LogSessions(t, root.NodeMarker), readOnly) {
		t.Run(s.Name, func(t *testing.T) { transcripts().Run(t, s) })
	}
}

// TestTranscriptsOfACompaction pins the order of durability of a compaction,
// and of the resume from every phase.
func TestTranscriptsOfACompaction(t *testing.T) {
	transcripts().Compaction(t, profiletest.Phases(append(profiletest.LogPhases(),
		profiletest.Phase{Name: "e-release", Op: faultfs.Truncate, Path: root.Records, Nth: 1},
		profiletest.Phase{Name: "f-sentinel", Op: faultfs.Remove, Path: root.NodeLock, Nth: 1},
	)...))
}
