package native_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files and tables")

func transcripts() profiletest.Transcripts {
	return profiletest.Transcripts{Subject: subject, Update: *update}
}

// TestTranscriptsOfAStore pins the order of durability of everything but a
// compaction.
func TestTranscriptsOfAStore(t *testing.T) {
	opened := func(fsys vfs.FS) (profile.Store, error) { return subject.OpenStore(t.Context(), fsys, "/root") }
	created := func(fsys vfs.FS) (profile.Store, error) { return subject.Create(t.Context(), fsys, "/root") }
	asked := func(times int) func(profile.Store) error {
		return func(s profile.Store) error { return profiletest.Ask(s, times) }
	}
	admitting := func(records ...[]byte) func(profile.Store) error {
		return func(s profile.Store) error { _, err := admit(s, records...); return err }
	}
	for _, c := range []profiletest.Session{
		{Name: "create", Open: created},
		{Name: "create-over-a-marker", Base: func(t *testing.T, f *crashfs.FS) {
			must(t, f.Mkdir("/root"))
			put(t, f, "/root/"+root.Marker, root.NativeMarker[:7])
		}, Open: created},
		{Name: "open", Base: builtRoot, Open: opened},
		{Name: "open-with-torn-row", Base: func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			put(t, f, "/root/"+root.RecordLog, get(t, f, "/root/"+root.RecordLog)+"torn")
		}, Open: opened},
		{Name: "open-with-lost-row", Base: func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			log := get(t, f, "/root/"+root.RecordLog)
			put(t, f, "/root/"+root.RecordLog, log[:64]+string(make([]byte, 64))+log[128:])
		}, Open: opened},
		{Name: "open-cleans", Base: func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			must(t, f.Mkdir("/root/"+root.Staging))
			put(t, f, "/root/"+root.Staging+"/1", "staged")
			must(t, f.Mkdir("/root/"+root.IndexStart+"v1"))
		}, Open: opened},
		{Name: "admit", Base: builtRoot, Open: opened, Act: admitting(blobs(10, 13)...)},
		{Name: "admit-duplicates", Base: builtRoot, Open: opened, Act: admitting(blob(1))},
		{Name: "index-publication", Base: builtRoot, Open: opened, Act: asked(2)},
		{Name: "index-republication", Base: func(t *testing.T, f *crashfs.FS) {
			builtRoot(t, f)
			for _, act := range []func(profile.Store) error{asked(2), admitting(blob(7))} {
				s, err := opened(f)
				must(t, err)
				must(t, errors.Join(act(s), s.Close()))
			}
		}, Open: opened, Act: asked(8)},
	} {
		t.Run(c.Name, func(t *testing.T) { transcripts().Run(t, c) })
	}
}

func builtRoot(t *testing.T, base *crashfs.FS) { build(t, base, "/root", blobs(0, 3)...) }

// TestTranscriptsOfACompaction pins the order of durability of a compaction,
// and of the resume from every phase.
func TestTranscriptsOfACompaction(t *testing.T) {
	transcripts().Compaction(t, []profiletest.Phase{
		{Name: "a-plan", Op: faultfs.Rename, Path: root.Plan + vfs.TempSuffix, Nth: 1},
		{Name: "b-state", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 1},
		{Name: "b-indexes", Op: faultfs.Remove, Path: root.Indexes, Nth: 1},
		{Name: "c-journal", Op: faultfs.Rename, Path: root.Journal + vfs.TempSuffix, Nth: 1},
		{Name: "c-move", Op: faultfs.Sync, Path: root.Records, Nth: 2}, // the first is of the opening
		{Name: "c-cursor", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 2},
		{Name: "c-unjournaled", Op: faultfs.Sync, Path: root.Records, Nth: 4},
		{Name: "d-publish", Op: faultfs.Rename, Path: root.RecordLog + vfs.TempSuffix, Nth: 1},
		{Name: "e-release", Op: faultfs.Punch, Path: root.Records, Nth: 1},
		{Name: "f-state", Op: faultfs.Remove, Path: root.State, Nth: 1},
		{Name: "f-plan", Op: faultfs.Remove, Path: root.Plan, Nth: 1},
	})
}
