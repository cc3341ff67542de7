package profiletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// scripted is a root in three batches, and how it is compacted.
func scripted() (*compacttest.Shape, compacttest.Settings) {
	shape := compacttest.Scripted([]int{0, 30, 300, 310, 320, 330, 600, 200, 210}, "k-kkkk-kk", 800)
	return shape, compacttest.Settings{Journal: shape.Journal, Run: compact.Options{Buffer: 1 << 12, WorthGap: 600}}
}

func (s Subject) scriptedRoot(t *testing.T, shape *compacttest.Shape) *crashfs.FS {
	t.Helper()
	base := Model()
	Must(t, errors.Join(s.Build(base, Dir, shape.Records), base.SyncDir("/")))
	return base
}

// EveryCallOfACompactionFails lets every call fail once. The error is of a
// kind, names the root, says how to go on once there is something to resume, and
// the next run finishes the work. Calls of which tolerated is true may be
// answered with success.
func (s Subject) EveryCallOfACompactionFails(t *testing.T, tolerated func(faultfs.Call) bool) {
	shape, settings := scripted()
	base := s.scriptedRoot(t, shape)
	whole := faultfs.New(base.Clone(), Dir)
	_, err := s.Compact(t.Context(), whole, Dir, shape.Set(), settings)
	Must(t, err)
	for k, call := range whole.Calls(faultfs.All) {
		if call.Err != nil || call.Op == faultfs.DropCache {
			continue
		}
		disk := base.Clone()
		fsys := faultfs.New(disk, Dir)
		fault := fsys.Inject(faultfs.Fault{Match: faultfs.All, At: k + 1, Err: syscall.EIO, Short: 5})
		_, err := s.Compact(t.Context(), fsys, Dir, shape.Set(), settings)
		if fault.Fired() != 1 {
			t.Fatalf("%s: the fault did not fire", call)
		}
		if err != nil || !tolerated(call) {
			checkRefusal(t, call, disk, err)
		}
		if leaks := fsys.Leaks(); len(leaks) > 0 {
			t.Errorf("%s: leaks %q", call, leaks)
		}
		h := compacttest.Adopt(s, shape, disk.Clone())
		if err := errors.Join(h.CheckOpen(), h.Finish()); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func checkRefusal(t *testing.T, call faultfs.Call, fsys vfs.FS, err error) {
	t.Helper()
	var known *store.Error
	if !errors.Is(err, syscall.EIO) || !errors.As(err, &known) || known.Root == "" {
		t.Errorf("%s: %v", call, err)
		return
	}
	found, lookErr := compact.Look(fsys, Dir)
	Must(t, lookErr)
	if found.State && !strings.Contains(known.Hint, "lace resume "+Dir) {
		t.Errorf("%s: %v, with the hint %q", call, err, known.Hint)
	}
}

// durability keeps the calls that the order of durability is about.
func durability(c faultfs.Call) bool { return faultfs.Changing(c) && c.Err == nil }

// Golden compares with testdata/NAME.txt, where a sync that is missing is a
// difference of one line. With update it writes the file.
func Golden(t *testing.T, update bool, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if update {
		Must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	Must(t, err)
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it):\n%s\nwant:\n%s", path, got, want)
	}
}

// Transcripts pins orders of durability in golden files.
type Transcripts struct {
	Subject
	Update bool
	// Normalize, unless nil, takes out of a transcript what differs from one
	// process to another.
	Normalize func(string) string
	// Leave, unless nil, leaves what only this profile cleans away.
	Leave func(t *testing.T, f *crashfs.FS)
	// Fork, unless nil, is the subject of a copy of another one's root. A profile
	// whose root lies only in part on a model file system copies the rest, and
	// notes in the transcript what goes past it.
	Fork func(t *testing.T, of Subject, noted *faultfs.FS) Subject
}

func (r Transcripts) fork(t *testing.T, of Subject, noted *faultfs.FS) Subject {
	if r.Fork == nil {
		return of
	}
	return r.Fork(t, of, noted)
}

func (r Transcripts) golden(t *testing.T, name string, fsys *faultfs.FS, more string) {
	t.Helper()
	got := fsys.Transcript(durability) + more
	if r.Normalize != nil {
		got = r.Normalize(got)
	}
	Golden(t, r.Update, name, got)
}

// Session is something done with a store on a root.
type Session struct {
	Name string
	// Base, unless nil, prepares the file system, which has no root otherwise.
	Base func(*testing.T, *crashfs.FS)
	Open func(vfs.FS) (profile.Store, error)
	// Act, unless nil, is what is written down, with the closing; without it the
	// opening is as well.
	Act func(profile.Store) error
}

// Run records a session.
func (r Transcripts) Run(t *testing.T, s Session) {
	base := Model()
	if s.Base != nil {
		s.Base(t, base)
	}
	fsys := faultfs.New(base, Dir)
	b, err := s.Open(fsys)
	Must(t, err)
	if s.Act != nil {
		fsys.Forget()
		Must(t, s.Act(b))
	}
	Must(t, b.Close())
	r.golden(t, s.Name, fsys, "")
}

// LogSessions are those of a profile with a record-log and lists in files, on a
// root whose marker is that.
func (r Transcripts) LogSessions(t *testing.T, marker string) []Session {
	opened := func(fsys vfs.FS) (profile.Store, error) { return r.OpenStore(t.Context(), fsys, Dir) }
	created := func(fsys vfs.FS) (profile.Store, error) { return r.Subject.Create(t.Context(), fsys, Dir) }
	log := at(root.RecordLog)
	built := func(t *testing.T, f *crashfs.FS) { r.MakeRoot(t, f, Dir, Blobs(0, 3)...) }
	return []Session{
		{Name: "create", Open: created},
		{Name: "create-over-a-marker", Base: func(t *testing.T, f *crashfs.FS) {
			Must(t, f.Mkdir(Dir))
			Put(t, f, at(root.Marker), marker[:7])
		}, Open: created},
		{Name: "open", Base: built, Open: opened},
		{Name: "open-with-torn-row", Base: func(t *testing.T, f *crashfs.FS) {
			built(t, f)
			Put(t, f, log, Get(t, f, log)+"torn")
		}, Open: opened},
		{Name: "open-with-lost-row", Base: func(t *testing.T, f *crashfs.FS) {
			built(t, f)
			rows := Get(t, f, log)
			Put(t, f, log, rows[:64]+string(make([]byte, 64))+rows[128:])
		}, Open: opened},
		{Name: "open-cleans", Base: func(t *testing.T, f *crashfs.FS) { built(t, f); r.leave(t, f) }, Open: opened},
		{Name: "admit", Base: built, Open: opened, Act: admitting(10, 13)},
		{Name: "admit-duplicates", Base: built, Open: opened, Act: admitting(1, 2)},
		{Name: "index-publication", Base: built, Open: opened, Act: asking(2)},
		{Name: "index-republication", Base: func(t *testing.T, f *crashfs.FS) {
			built(t, f)
			for _, act := range []func(profile.Store) error{asking(2), admitting(7, 8)} {
				b, err := opened(f)
				Must(t, err)
				Must(t, errors.Join(act(b), b.Close()))
			}
		}, Open: opened, Act: asking(8)},
	}
}

// leave leaves what the next opening cleans away.
func (r Transcripts) leave(t *testing.T, f *crashfs.FS) {
	t.Helper()
	if r.Leave != nil {
		r.Leave(t, f)
	}
	Must(t, f.Mkdir(at(root.IndexStart+"v1")))
}

func asking(times int) func(profile.Store) error {
	return func(b profile.Store) error { return Ask(b, times) }
}

func admitting(lo, hi int) func(profile.Store) error {
	return func(b profile.Store) error { _, err := Admit(b, Blobs(lo, hi)...); return err }
}

// Phases are the moments of steps A to C and of F, which every profile has, with
// those of its own steps D and E between them.
func Phases(own ...Phase) []Phase {
	return slices.Concat([]Phase{
		{Name: "a-plan", Op: faultfs.Rename, Path: root.Plan + vfs.TempSuffix, Nth: 1},
		{Name: "b-state", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 1},
		{Name: "c-journal", Op: faultfs.Rename, Path: root.Journal + vfs.TempSuffix, Nth: 1},
		{Name: "c-move", Op: faultfs.Sync, Path: root.Records, Nth: 2}, // the first is of the opening
		{Name: "c-cursor", Op: faultfs.Rename, Path: root.State + vfs.TempSuffix, Nth: 2},
		{Name: "c-unjournaled", Op: faultfs.Sync, Path: root.Records, Nth: 4},
	}, own, []Phase{
		{Name: "f-state", Op: faultfs.Remove, Path: root.State, Nth: 1},
		{Name: "f-plan", Op: faultfs.Remove, Path: root.Plan, Nth: 1},
	})
}

// LogPhases are the steps B and D of a profile with a record-log and lists in
// files.
func LogPhases() []Phase {
	return []Phase{
		{Name: "b-indexes", Op: faultfs.Remove, Path: root.Indexes, Nth: 1},
		{Name: "d-publish", Op: faultfs.Rename, Path: root.RecordLog + vfs.TempSuffix, Nth: 1},
	}
}

// Phase is a moment at which a compaction is killed: before the n-th call of a
// verb on a path took effect.
type Phase struct {
	Name string
	Op   faultfs.Op
	Path string
	Nth  int
}

// Compaction records a compaction, and the resume from every phase.
func (r Transcripts) Compaction(t *testing.T, phases []Phase) {
	shape, settings := scripted()
	base := r.scriptedRoot(t, shape)
	fsys := faultfs.New(base.Clone(), Dir)
	_, err := r.fork(t, r.Subject, fsys).Compact(t.Context(), fsys, Dir, shape.Set(), settings)
	Must(t, err)
	r.golden(t, "compact", fsys, "")
	for _, phase := range phases {
		t.Run(phase.Name, func(t *testing.T) {
			disk, seen := base.Clone(), 0
			first := faultfs.New(disk, Dir)
			first.Inject(faultfs.Fault{Err: crashfs.ErrCrashed, KeepFailing: true, Match: func(c faultfs.Call) bool {
				if faultfs.On(phase.Op, phase.Path)(c) {
					seen++
				}
				return seen >= phase.Nth
			}})
			killed := r.fork(t, r.Subject, first)
			if _, err := killed.Compact(t.Context(), first, Dir, shape.Set(), settings); err == nil {
				t.Fatal("not killed")
			}
			next := faultfs.New(disk.Clone(), Dir)
			report, err := r.fork(t, killed, next).Resume(t.Context(), next, Dir, settings)
			Must(t, err)
			r.golden(t, "resume-"+phase.Name, next, fmt.Sprintf("outcome %s\n", report.Outcome))
		})
	}
}

// Leftovers are files of a compaction without a state.
func Leftovers(t *testing.T, fsys vfs.FS, dir string) {
	for _, name := range root.CompactionEntries() {
		if name != root.State {
			Put(t, fsys, filepath.Join(dir, name), "not even a plan")
		}
	}
}

// Refused checks that a compaction which is refused changes nothing, whatever
// the root waits for: a torn row, a lost row, leftovers without a state. The
// next one that goes on does what the refused one left undone.
func (s Subject) Refused(t *testing.T, spoil map[string]func(t *testing.T, fsys vfs.FS, dir string)) {
	refusal := errors.New("not this time")
	shape, settings := scripted()
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			fsys, dir := QuickFS(), filepath.Join(t.TempDir(), "root")
			Must(t, s.Build(fsys, dir, shape.Records))
			change(t, fsys, dir)
			before := s.content(t, dir)
			opts := compactOptions(fsys, settings)
			opts.Approve = func(*compact.Plan) error { return refusal }
			choose := func(context.Context, store.Backend) (*kept.Set, error) { return shape.Set(), nil }
			if _, err := s.Profile.Compact(t.Context(), dir, opts, choose); !errors.Is(err, refusal) {
				t.Errorf("refused by its guard: %v", err)
			}
			failing := func(context.Context, store.Backend) (*kept.Set, error) { return nil, refusal }
			if _, err := s.Profile.Compact(t.Context(), dir, compactOptions(fsys, settings), failing); !errors.Is(err, refusal) {
				t.Errorf("without a choice: %v", err)
			}
			if after := s.content(t, dir); after != before {
				t.Errorf("the root has changed from\n%sto\n%s", before, after)
			}
			report, err := s.Profile.Compact(t.Context(), dir, compactOptions(fsys, settings), choose)
			if err != nil || report.Outcome != compact.Done {
				t.Fatalf("%+v, %v", report, err)
			}
			Must(t, s.Open(t.Context(), fsys, dir))
			for _, entry := range root.CompactionEntries() {
				if _, err := os.Stat(filepath.Join(dir, entry)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s stays: %v", entry, err)
				}
			}
		})
	}
}
