package cmd_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/cmd"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/pkg/sweep"
)

// historyFacts are what a profile makes of a history: the set that each policy
// list keeps, and the exported stream before and after a compaction.
type historyFacts struct {
	kept          []string
	before, after [sha256.Size]byte
}

// TestHistoryOnEveryProfile: a history has the same kept sets, and the same
// records in the same order before and after a compaction, whatever the
// profile: its exports are byte-identical.
func TestHistoryOnEveryProfile(t *testing.T) {
	for _, app := range []string{"bbolt", "restic"} {
		t.Run(app, func(t *testing.T) {
			if app == "restic" && os.Getenv("LACE_TEST_LONG") == "" {
				t.Skip("SKIPPED: takes a minute; of the long form, make history-profiles")
			}
			var want historyFacts
			for i, p := range builtProfiles(t) {
				got := factsOf(t, p, app)
				if i == 0 {
					want = got
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %x\nwant %x", p.Name(), got, want)
				}
			}
		})
	}
}

func factsOf(t *testing.T, p profile.Profile, app string) (facts historyFacts) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	historyRootOf(t, p, app, dir)
	facts.before = exportOf(t, dir)
	s := openProfile(t, p, dir)
	for _, a := range knownAnswers()[app] {
		set, err := a.keep(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if set.Count() != a.records {
			t.Errorf("%s: %v keep %d records, want %d", p.Name(), a.policies, set.Count(), a.records)
		}
		facts.kept = append(facts.kept, fmt.Sprintf("%x", set.Digest([32]byte{})))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	current := knownAnswers()[app][3]
	if _, err := p.Compact(t.Context(), dir, profile.CompactOptions{Open: profile.Options{FS: osfs.New()}}, current.keep); err != nil {
		t.Fatal(err)
	}
	if facts.after = exportOf(t, dir); facts.after == facts.before {
		t.Errorf("%s: the compaction changed nothing", p.Name())
	}
	s = openProfile(t, p, dir)
	if s.Position() != store.Position(current.records) {
		t.Errorf("%s: %d records after the compaction, want %d", p.Name(), s.Position(), current.records)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return facts
}

func openProfile(t *testing.T, p profile.Profile, dir string) profile.Store {
	t.Helper()
	s, err := p.Open(t.Context(), dir, profile.Options{FS: osfs.New(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exportOf hashes what lace export writes of a root.
func exportOf(t *testing.T, dir string) [sha256.Size]byte {
	t.Helper()
	h := sha256.New()
	var said strings.Builder
	if code := cmd.Main([]string{"export", dir}, strings.NewReader(""), h, &said); code != 0 {
		t.Fatalf("export: exit code %d: %s", code, said.String())
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// keep is the choice of the policies of an answer.
func (a answer) keep(ctx context.Context, b store.Backend) (*kept.Set, error) {
	var sources []policy.Source
	for _, name := range a.policies {
		text, err := os.ReadFile(filepath.Join("..", "examples", name+".lace"))
		if err != nil {
			return nil, err
		}
		sources = append(sources, policy.Source{Name: name, Text: text})
	}
	prepared, err := policy.Prepare(sources, nil)
	if err != nil {
		return nil, err
	}
	result, err := sweep.Run(ctx, b, prepared, sweep.Options{})
	if err != nil {
		return nil, err
	}
	return result.Kept, nil
}
