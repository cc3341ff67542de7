package cmd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/cmd"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
)

// builtProfiles are those that this build serves.
func builtProfiles(t *testing.T) []profile.Profile {
	t.Helper()
	all := []profile.Profile{native.Profile{}, node.Profile{}}
	if !lmdb.Built {
		t.Log("without LMDB, which needs cgo: the other profiles are tried")
		return all
	}
	return append(all, lmdb.Profile{})
}

// profileArg is how --profile names a profile.
func profileArg(p profile.Profile) string { return strings.ToLower(p.Name()) }

// run runs lace in this process.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cmd.Main(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// succeeds runs lace and wants it to exit with 0.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := run(args...)
	if code != 0 {
		t.Fatalf("lace %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// halfPolicy keeps one half of a synthetic root.
const halfPolicy = "SelectStoredRecord(R) :- Field(R,'Half',_,'a').\n"

func halfPolicyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "half.lace")
	profiletest.Must(t, os.WriteFile(path, []byte(halfPolicy), 0o666))
	return path
}

// TestExchangedMarkerIsRefused: a root that has the marker of another profile,
// and something that roots of that profile never have, is refused by every
// command, and nothing in it changes: its owners lock it in another way.
func TestExchangedMarkerIsRefused(t *testing.T) {
	policy := halfPolicyFile(t)
	more := filepath.Join(t.TempDir(), "more.records")
	profiletest.Must(t, os.WriteFile(more, profiletest.Blob(1), 0o666))
	for _, made := range builtProfiles(t) {
		for _, claimed := range builtProfiles(t) {
			if made.Name() == claimed.Name() {
				continue
			}
			t.Run(made.Name()+" as "+claimed.Name(), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "root")
				profiletest.Must(t, fillRootOf(made, dir, 1<<20, &plain{count: 10, size: 100}))
				if made.Name() == root.Node {
					// An open one, of a length that a capacity may have: nothing
					// else tells it from a native root.
					profiletest.Must(t, os.WriteFile(filepath.Join(dir, root.NodeLock), []byte("4242\n"), 0o666))
					profiletest.Must(t, os.Truncate(filepath.Join(dir, root.Records), 1<<20))
				}
				profiletest.Must(t, os.WriteFile(filepath.Join(dir, root.Marker), []byte(root.MarkerOf(claimed.Name())), 0o666))
				profiletest.Unchanged(t, dir, func() {
					for _, args := range [][]string{
						{"verify", dir, "--indexes"}, {"inspect", dir, "#1"}, {"sweep", dir, "-p", policy, "--dry-run"},
						{"export", dir}, {"admit", dir, more}, {"admit", dir, "--create", more},
						{"compact", dir, "-p", policy}, {"resume", dir},
					} {
						if code, _, errs := run(args...); code != 13 || !strings.Contains(errs, "no root of the "+claimed.Name()+" profile has") {
							t.Errorf("lace %s: exit code %d: %s", strings.Join(args, " "), code, errs)
						}
					}
					if _, out, _ := run("inspect", dir); strings.Contains(out, "healthy") {
						t.Errorf("lace inspect: %s", out)
					}
				})
			})
		}
	}
}

// TestExportBetweenProfiles: what a root of one profile exports, before and
// after a compaction, a root of each other profile admits, verifies and exports
// again, byte for byte; and what is admitted next goes behind it.
func TestExportBetweenProfiles(t *testing.T) {
	policy := halfPolicyFile(t)
	more := filepath.Join(t.TempDir(), "more.records")
	profiletest.Must(t, os.WriteFile(more, profiletest.Blob(1), 0o666))
	for _, from := range builtProfiles(t) {
		source := filepath.Join(t.TempDir(), "source")
		profiletest.Must(t, fillRootOf(from, source, 1<<20, &plain{count: 10, size: 100}))
		for _, compacted := range []bool{false, true} {
			if compacted {
				succeeds(t, "compact", source, "-p", policy)
			}
			stream := filepath.Join(t.TempDir(), "stream.records")
			succeeds(t, "export", source, "--output", stream)
			want, err := os.ReadFile(stream)
			profiletest.Must(t, err)
			for _, to := range builtProfiles(t) {
				dir := filepath.Join(t.TempDir(), "root")
				succeeds(t, "admit", dir, "--create", "--profile", profileArg(to), stream)
				succeeds(t, "verify", dir, "--level", "seals", "--indexes")
				succeeds(t, "admit", dir, more)
				if got := succeeds(t, "export", dir); got != string(want)+string(profiletest.Blob(1)) || len(want) == 0 {
					t.Errorf("%s to %s, compacted %v: %d bytes, want %d and one record", from.Name(), to.Name(), compacted, len(got), len(want))
				}
			}
		}
	}
}
