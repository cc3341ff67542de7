package compacttest_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// planted is a wrong protocol and the test that must catch it. catch returns
// what that test found, and what kind of fault showed it.
type planted struct {
	name, breaks string
	catch        func(*testing.T) (kind string, found error)
}

// TestMutants plants wrong protocols, each of which a test must catch, and
// compares with the table in docs/testing.md (-update rewrites it). A test that
// passes them proves nothing about the right protocol.
func TestMutants(t *testing.T) {
	if underRace {
		t.Skip("takes minutes under the race detector, and has one goroutine")
	}
	var table strings.Builder
	for _, p := range allPlanted() {
		ok := t.Run(p.name, func(t *testing.T) {
			kind, found := p.catch(t)
			if found == nil {
				t.Fatalf("not caught (%s)", kind)
			}
			t.Logf("caught by %s: %v", kind, found)
			fmt.Fprintf(&table, "| %s | %s | %s |\n", p.name, p.breaks, kind)
		})
		if !ok {
			return
		}
	}
	t.Logf("the mutants:\n%s", table.String())
	if err := checkTable("../../../docs/testing.md", "compaction", table.String(), *update); err != nil && os.Getenv(compacttest.StatesVariable) == "" {
		t.Error(err)
	}
}

func allPlanted() []planted {
	var all []planted
	for _, m := range compacttest.Mutants() {
		all = append(all, planted{m.Name, m.Breaks, func(*testing.T) (string, error) { return compacttest.Catch(compacttest.Plain{}, m, 20_000) }})
	}
	for _, m := range swallowers() {
		all = append(all, planted{m.Name, m.Breaks, func(t *testing.T) (string, error) { return "failing calls", failingCalls(t, m) }})
	}
	return append(all,
		planted{"damaged journal not mended", "a row is written over its only whole copy", func(t *testing.T) (string, error) {
			return "damaged files and kills", mendsDamagedJournal(t, compacttest.Mutant{Start: notMended}.Wrap)
		}},
		planted{"plan believed unchecked", "a plan is believed only after every check", func(t *testing.T) (string, error) {
			return "damaged files", damageBelieved(t, compacttest.Careless{BelievePlan: true})
		}},
		planted{"files without a state cleared unchecked", "only a whole root may lose its plan", func(t *testing.T) (string, error) {
			return "damaged files", leftoversCleared(t, compacttest.Careless{ClearUnchecked: true})
		}},
		planted{"row moved that nothing proves", "rule 4: where neither source nor destination verifies, nothing is written", func(t *testing.T) (string, error) {
			return "damaged files", unprovenMoved(t, compacttest.Careless{MoveUnproven: true})
		}},
	)
}

// passedOver passes over the failures of one verb.
func passedOver(op faultfs.Op) func(vfs.FS) compacttest.Tamperer {
	return func(vfs.FS) compacttest.Tamperer {
		return func(s compacttest.Step, do func() error) error {
			if err := do(); s.Op != op {
				return err
			}
			return nil
		}
	}
}

// swallowers are wrong about errors, not about the order of durability.
func swallowers() []compacttest.Mutant {
	again := func(vfs.FS) compacttest.Tamperer {
		return func(s compacttest.Step, do func() error) error {
			err := do()
			if err != nil && s.Op == faultfs.SyncDir {
				err = errors.Join(err, do())
			}
			return err
		}
	}
	leaking := func(vfs.FS) compacttest.Tamperer {
		failed := false
		return func(s compacttest.Step, do func() error) error {
			if failed && s.Op == faultfs.Close {
				return nil
			}
			err := do()
			failed = failed || err != nil
			return err
		}
	}
	return []compacttest.Mutant{
		{Name: "failed write passed over", Breaks: "bytes are missing, and the run says it is done", Start: passedOver(faultfs.Write)},
		{Name: "failed close passed over", Breaks: "a close may be the first to tell of a failed write", Start: passedOver(faultfs.Close)},
		{Name: "failed removal passed over", Breaks: "a finished root asks for a resume again", Start: passedOver(faultfs.Remove)},
		{Name: "failed rename passed over", Breaks: "a file is believed replaced that is not", Start: passedOver(faultfs.Rename)},
		{Name: "failed directory sync tried again", Breaks: "a failed sync is never retried", Start: again},
		{Name: "files left open after a failure", Breaks: "a lock or a handle outlives the run", Start: leaking},
	}
}

func failingCalls(t *testing.T, m compacttest.Mutant) error {
	t.Helper()
	s := scripted()
	whole := attempt{"compact", func(t *testing.T) *crashfs.FS { return built(t, s, s.FS) }}
	return errors.Join(everyCallFails(t, s, whole, false, m.Wrap)...)
}

// notMended leaves out the replacement of a live journal before the first
// write of a resume.
func notMended(base vfs.FS) compacttest.Tamperer {
	_, err := base.Stat(at(root.Journal))
	live := err == nil
	return func(s compacttest.Step, do func() error) error {
		if live && s.Is(faultfs.Rename, root.Journal) {
			live = false
			return base.Remove(at(root.Journal + vfs.TempSuffix))
		}
		live = live && !s.Is(faultfs.Write, root.Records)
		return do()
	}
}

// unprovenMoved resumes a root in which no copy of a row is right.
func unprovenMoved(t *testing.T, subject compacttest.Subject) error {
	t.Helper()
	s := scripted()
	fsys := atThirdMove(t, s)
	spoil(t, fsys, oldPlaceOf5)
	spoil(t, fsys, newPlaceOf5)
	calls := faultfs.New(fsys, compacttest.Dir)
	_, err := subject.Resume(t.Context(), calls, compacttest.Dir, settings(s))
	if n := calls.Count(faultfs.On(faultfs.Write, root.Records)); n > 0 || err == nil {
		return fmt.Errorf("%d writes, %w", n, errors.Join(err, errUnproven))
	}
	return nil
}

var errUnproven = errors.New("a row was moved that nothing proves")

func damageBelieved(t *testing.T, subject compacttest.Subject) error {
	t.Helper()
	for _, name := range []string{"another old end", "another hash", "a cursor too far", "an old offset inside a record"} {
		if err := refusesDamage(t, subject, damages()[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func leftoversCleared(t *testing.T, subject compacttest.Subject) error {
	t.Helper()
	s := scripted()
	fsys := built(t, s, crashfs.Options{})
	edit(t, fsys, root.Plan, func([]byte) []byte { return []byte("not a plan") })
	spoil(t, fsys, 100)
	return refuses(t, subject, s, fsys)
}

// checkTable compares the rows of the named table of a document with want, or
// rewrites them. In the document the table is between the lines
// "<!-- mutants: NAME -->" and "<!-- end -->", below two lines of header.
func checkTable(path, name, want string, update bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := fmt.Sprintf("<!-- mutants: %s -->\n", name)
	before, rest, ok := strings.Cut(string(b), begin)
	table, after, closed := strings.Cut(rest, "<!-- end -->\n")
	lines := strings.SplitAfterN(table, "\n", 3)
	if !ok || !closed || len(lines) != 3 {
		return fmt.Errorf("%s has no table of mutants %q", path, name)
	}
	if lines[2] == want {
		return nil
	}
	if update {
		return os.WriteFile(path, []byte(before+begin+lines[0]+lines[1]+want+"<!-- end -->\n"+after), 0o644)
	}
	return fmt.Errorf("the table of mutants %q in %s differs (-update rewrites it); want\n%s", name, path, want)
}
