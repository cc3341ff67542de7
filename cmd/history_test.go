package cmd_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// historyRoot makes the root of a repository's history, or skips the test.
func historyRoot(t *testing.T, app, root string) {
	t.Helper()
	historyRootOf(t, native.Profile{}, app, root)
}

// historyRootOf is historyRoot of a profile.
func historyRootOf(t *testing.T, p profile.Profile, app, root string) {
	t.Helper()
	file := filepath.Join("..", "..", "shared", "data", app+"-history.tsv.gz")
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: there is no %s", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := fillRootOf(p, root, 4<<30, gen.NewHistory(z, app)); err != nil {
		t.Fatal(err)
	}
}

// answer is how many records a list of policies retains, and how many bytes of
// data.
type answer struct {
	policies      []string
	records, data uint64
}

// knownAnswers were counted from the tables by an independent program.
func knownAnswers() map[string][]answer {
	return map[string][]answer{
		"bbolt": {
			{[]string{"everything"}, 3_045, 28_559_070},
			{[]string{"newest-three"}, 751, 2_753_417},
			{[]string{"tagged-with-history"}, 932, 14_111_719},
			{[]string{"current"}, 158, 770_945},
			{[]string{"newest-three", "tagged-with-history"}, 1_665, 16_604_482},
		},
		"restic": {
			{[]string{"everything"}, 49_886, 843_036_399},
			{[]string{"newest-three"}, 33_093, 419_507_999},
			{[]string{"tagged-with-history"}, 286, 3_899_120},
			{[]string{"current"}, 1_391, 8_588_097},
			{[]string{"newest-three", "tagged-with-history"}, 33_378, 423_407_112},
		},
	}
}

func TestKnownAnswers(t *testing.T) {
	for app, answers := range knownAnswers() {
		t.Run(app, func(t *testing.T) {
			t.Parallel()
			if app == "restic" && (testing.Short() || raceDetector) {
				t.Skip("SKIPPED: the restic history takes too long with -short or -race")
			}
			root := filepath.Join(t.TempDir(), app)
			historyRoot(t, app, root)
			for _, a := range answers {
				a.check(t, root)
			}
		})
	}
}

// TestHistoryWindows: neither the size of a window nor what windows share
// changes what a history keeps. LACE_TEST_LONG=1 adds what takes minutes:
// many windows that each derive everything anew. TestKnownAnswers has counted
// the bytes of the set that all of them are compared with.
func TestHistoryWindows(t *testing.T) {
	if raceDetector || testing.Short() {
		// What the detector could find here it finds on small roots, in less
		// time.
		t.Skip("SKIPPED with -short or -race: the step \"known answers\" of make check runs it")
	}
	for app, sizes := range map[string][]uint64{"bbolt": {1, 7, 1000, 1 << 20}, "restic": {1000, 1 << 20}} {
		dir := filepath.Join(t.TempDir(), app)
		historyRoot(t, app, dir)
		var want []*kept.Set
		for _, a := range knownAnswers()[app] {
			want = append(want, a.inWindows(t, dir, sweep.Options{}))
		}
		for _, size := range sizes {
			for _, anew := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/window=%d/anew=%t", app, size, anew), func(t *testing.T) {
					if many := app == "restic" || size < 1000; anew && many && size < 1<<20 && os.Getenv("LACE_TEST_LONG") == "" {
						// Thousands of times the whole root: ten minutes.
						t.Skip("SKIPPED: of the long form, make history-windows")
					}
					for i, a := range knownAnswers()[app] {
						got := a.inWindows(t, dir, sweep.Options{WindowRecords: size, DeriveEachWindow: anew})
						if !bytes.Equal(got.Bitmap(), want[i].Bitmap()) {
							t.Errorf("%v retains other records than in one window", a.policies)
						}
					}
				})
			}
		}
	}
}

// inWindows sweeps, and wants the number of records.
func (a answer) inWindows(t *testing.T, dir string, o sweep.Options) *kept.Set {
	t.Helper()
	var sources []policy.Source
	for _, name := range a.policies {
		text, err := os.ReadFile(filepath.Join("..", "examples", name+".lace"))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, policy.Source{Name: name, Text: text})
	}
	prepared, err := policy.Prepare(sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := native.Open(t.Context(), dir, native.Options{FS: osfs.New(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	result, err := sweep.Run(t.Context(), b, prepared, o)
	if err = errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	if got := result.Kept.Count(); got != a.records {
		t.Errorf("%v retains %d records, want %d", a.policies, got, a.records)
	}
	return result.Kept
}

// check previews, and wants the answer.
func (a answer) check(t *testing.T, root string) {
	t.Helper()
	args := []string{"sweep", root, "--dry-run", "--json", "-q"}
	for _, p := range a.policies {
		args = append(args, "-p", filepath.Join("..", "examples", p+".lace"))
	}
	command := exec.Command("lace", args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", a.policies, err)
	}
	var doc struct {
		Retained struct {
			Records uint64 `json:"records"`
			Data    uint64 `json:"data_bytes"`
		} `json:"retained"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %v", a.policies, err)
	}
	if doc.Retained.Records != a.records || doc.Retained.Data != a.data {
		t.Errorf("%v retains %d records with %d bytes of data, want %d with %d", a.policies, doc.Retained.Records, doc.Retained.Data, a.records, a.data)
	}
}

// lockFile locks a file as another program would, until the returned function
// is called.
func lockFile(t *testing.T, path string) func() {
	t.Helper()
	f, err := osfs.New().OpenFile(path, vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.TryLock(vfs.ExclusiveLock); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
