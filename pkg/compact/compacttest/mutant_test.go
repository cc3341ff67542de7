package compacttest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// forgetful is a file system that reports success for the calls it leaves out.
// A protocol that misses a call looks the same to a crash.
type forgetful struct {
	vfs.FS
	omit func(call, name, last string) bool
	last string // the last change of an entry, as "rename compaction-plan"
}

func (f *forgetful) Remove(path string) error {
	err := f.FS.Remove(path)
	if err == nil {
		f.last = "remove " + filepath.Base(path)
	}
	return err
}

func (f *forgetful) Rename(oldPath, newPath string) error {
	f.last = "rename " + filepath.Base(newPath)
	return f.FS.Rename(oldPath, newPath)
}

func (f *forgetful) SyncDir(path string) error {
	last := f.last
	f.last = ""
	if f.omit("syncdir", filepath.Base(path), last) {
		return nil
	}
	return f.FS.SyncDir(path)
}

func (f *forgetful) OpenFile(path string, mode vfs.Mode) (vfs.File, error) {
	file, err := f.FS.OpenFile(path, mode)
	if err != nil {
		return nil, err
	}
	return &forgetfulFile{file, f, filepath.Base(path)}, nil
}

type forgetfulFile struct {
	vfs.File
	fs   *forgetful
	name string
}

func (f *forgetfulFile) Sync() error {
	if f.fs.omit("sync", f.name, "") {
		return nil
	}
	return f.File.Sync()
}

// TestMatrixCatchesOmissions plants protocols that miss one call. A matrix
// that passes them proves nothing about the real one.
func TestMatrixCatchesOmissions(t *testing.T) {
	if underRace {
		t.Skip("takes minutes under the race detector, and has one goroutine")
	}
	sync := func(name string) func(string, string, string) bool {
		return func(call, at, _ string) bool { return call == "sync" && at == name }
	}
	syncDir := func(after string) func(string, string, string) bool {
		return func(call, _, last string) bool { return call == "syncdir" && last == after }
	}
	// Only one state in ten thousand has the cut that needs a durable state, so
	// that mutant starts where it is.
	first := map[string]uint64{"directory not synced after state": 98}
	for name, omit := range map[string]func(call, name, last string) bool{
		"plan not synced":                    sync(root.Plan + vfs.TempSuffix),
		"state not synced":                   sync(root.State + vfs.TempSuffix),
		"journal not synced":                 sync(root.Journal + vfs.TempSuffix),
		"record-log not synced":              sync(root.RecordLog + vfs.TempSuffix),
		"arena not synced":                   sync(root.Records),
		"directory not synced after plan":    syncDir("rename " + root.Plan),
		"directory not synced after state":   syncDir("rename " + root.State),
		"directory not synced after journal": syncDir("rename " + root.Journal),
		"directory not synced after log":     syncDir("rename " + root.RecordLog),
		"directory not synced without state": syncDir("remove " + root.State),
		"directory not synced without plan":  syncDir("remove " + root.Plan),
		"directory not synced at the start":  syncDir(""),
		"nothing synced":                     func(call, _, _ string) bool { return strings.HasPrefix(call, "sync") },
	} {
		t.Run(name, func(t *testing.T) {
			wrap := func(fsys vfs.FS) vfs.FS { return &forgetful{FS: fsys, omit: omit} }
			tried, err := compacttest.Run(compacttest.Plain{}, compacttest.Options{States: 20_000, Random: 4, Stride: 5, First: first[name], Wrap: wrap})
			if err == nil {
				t.Fatalf("not caught by %d states", tried)
			}
			t.Logf("caught after %d states: %v", tried, err)
		})
	}
}
