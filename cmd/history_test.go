package cmd_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// historyRoot makes the root of a repository's history, or skips the test.
func historyRoot(t *testing.T, app, root string) {
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
	if err := fillRoot(root, 4<<30, gen.NewHistory(z, app)); err != nil {
		t.Fatal(err)
	}
}

// answer is how many records a list of policies retains, and how many bytes of
// data.
type answer struct {
	policies      []string
	records, data uint64
}

// The answers were counted from the tables by an independent program.
func TestKnownAnswers(t *testing.T) {
	histories := map[string][]answer{
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
	for app, answers := range histories {
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
