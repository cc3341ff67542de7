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
			edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(b, b[:63]...) })
		},
		"lost row": func(t *testing.T, _ vfs.FS, dir string) {
			edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { clear(b[len(b)-64:]); return b })
		},
		"leftovers": profiletest.Leftovers,
		"lists of another projection": func(t *testing.T, fsys vfs.FS, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, root.IndexStart+"v1"), 0o777))
			profiletest.Put(t, fsys, filepath.Join(dir, root.IndexStart+"v1", "a.ids"), "old")
		},
	})
}

// edit changes the bytes of a file of a root.
func edit(t *testing.T, path string, change func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o666))
}

var transcripts = profiletest.Transcripts{Subject: subject, Normalize: func(text string) string {
	// A pid is longer or shorter.
	return regexp.MustCompile(`write node-lock \[0, \d+\)`).ReplaceAllString(text, "write node-lock pid")
}}

// TestTranscriptsOfAStore pins the order of durability of everything but a
// compaction.
func TestTranscriptsOfAStore(t *testing.T) {
	transcripts.Update = *update
	opened := func(fsys vfs.FS) (profile.Store, error) { return subject.OpenStore(t.Context(), fsys, profiletest.Dir) }
	created := func(fsys vfs.FS) (profile.Store, error) { return subject.Create(t.Context(), fsys, profiletest.Dir) }
	asked := func(times int) func(profile.Store) error {
		return func(s profile.Store) error { return profiletest.Ask(s, times) }
	}
	admitting := func(lo, hi int) func(profile.Store) error {
		return func(s profile.Store) error { _, err := profiletest.Admit(s, profiletest.Blobs(lo, hi)...); return err }
	}
	at := func(name string) string { return filepath.Join(profiletest.Dir, name) }
	built := func(t *testing.T, f *crashfs.FS) { subject.MakeRoot(t, f, profiletest.Dir, profiletest.Blobs(0, 3)...) }
	for _, c := range []profiletest.Session{
		{Name: "create", Open: created},
		{Name: "create-over-a-marker", Base: func(t *testing.T, f *crashfs.FS) {
			must(t, f.Mkdir(profiletest.Dir))
			profiletest.Put(t, f, at(root.Marker), root.NodeMarker[:7])
		}, Open: created},
		{Name: "open", Base: built, Open: opened},
		{Name: "open-read-only", Base: built, Open: func(fsys vfs.FS) (profile.Store, error) {
			return subject.Profile.Open(t.Context(), profiletest.Dir, profile.Options{FS: fsys, ReadOnly: true})
		}},
		{Name: "open-with-torn-row", Base: func(t *testing.T, f *crashfs.FS) {
			built(t, f)
			profiletest.Put(t, f, at(root.RecordLog), profiletest.Get(t, f, at(root.RecordLog))+"torn")
		}, Open: opened},
		{Name: "open-with-lost-row", Base: func(t *testing.T, f *crashfs.FS) {
			built(t, f)
			log := profiletest.Get(t, f, at(root.RecordLog))
			profiletest.Put(t, f, at(root.RecordLog), log[:64]+string(make([]byte, 64))+log[128:])
		}, Open: opened},
		{Name: "open-cleans", Base: func(t *testing.T, f *crashfs.FS) { built(t, f); must(t, f.Mkdir(at(root.IndexStart+"v1"))) }, Open: opened},
		{Name: "admit", Base: built, Open: opened, Act: admitting(10, 13)},
		{Name: "admit-duplicates", Base: built, Open: opened, Act: admitting(1, 2)},
		{Name: "index-publication", Base: built, Open: opened, Act: asked(2)},
	} {
		t.Run(c.Name, func(t *testing.T) { transcripts.Run(t, c) })
	}
}

// TestTranscriptsOfACompaction pins the order of durability of a compaction,
// and of the resume from every phase.
func TestTranscriptsOfACompaction(t *testing.T) {
	transcripts.Update = *update
	transcripts.Compaction(t, []profiletest.Phase{
		{Name: "a-plan", Op: faultfs.Rename, Path: root.Plan + vfs.TempSuffix, Nth: 1},
		{Name: "b-state", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 1},
		{Name: "b-indexes", Op: faultfs.Remove, Path: root.Indexes, Nth: 1},
		{Name: "c-journal", Op: faultfs.Rename, Path: root.Journal + vfs.TempSuffix, Nth: 1},
		{Name: "c-move", Op: faultfs.Sync, Path: root.Records, Nth: 2}, // the first is of the opening
		{Name: "c-cursor", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 2},
		{Name: "c-unjournaled", Op: faultfs.Sync, Path: root.Records, Nth: 4},
		{Name: "d-publish", Op: faultfs.Rename, Path: root.RecordLog + vfs.TempSuffix, Nth: 1},
		{Name: "e-release", Op: faultfs.Truncate, Path: root.Records, Nth: 1},
		{Name: "f-state", Op: faultfs.Remove, Path: root.State, Nth: 1},
		{Name: "f-plan", Op: faultfs.Remove, Path: root.Plan, Nth: 1},
		{Name: "f-sentinel", Op: faultfs.Remove, Path: root.NodeLock, Nth: 1},
	})
}
