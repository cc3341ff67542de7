package native_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// actVariable makes the test binary play another process: it names what to do
// with the root that is the last argument.
const actVariable = "LACE_NATIVE_TEST_ACT"

func TestMain(m *testing.M) {
	if act := os.Getenv(actVariable); act != "" {
		os.Exit(play(act, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

// play does its act, says "ready" and waits until its input ends.
func play(act, dir string) int {
	s, err := native.Open(context.Background(), dir, native.Options{FS: quickFS()})
	if err != nil {
		fmt.Println("refused:", err)
		return 3
	}
	var held store.Record
	if act == "hold a record" {
		got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}}})
		if err = errors.Join(err, s.Close()); err != nil {
			fmt.Println("refused:", err)
			return 3
		}
		held = got.(store.LoadedResult).Records[0]
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends when the test wants it to
	runtime.KeepAlive(held)
	if act == "open and close" {
		if err := s.Close(); err != nil {
			return 4
		}
	}
	return 0
}

// process is this test binary, playing.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	said  string
}

func start(t *testing.T, act, dir string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), actVariable+"="+act)
	input, err := cmd.StdinPipe()
	must(t, err)
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{cmd: cmd, input: input}
	p.said, err = bufio.NewReader(output).ReadString('\n')
	must(t, err)
	t.Cleanup(func() { _ = p.input.Close(); _ = p.cmd.Wait() })
	return p
}

func (p *process) end() error {
	return errors.Join(p.input.Close(), p.cmd.Wait())
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// aliases are other paths of one root.
func aliases(t *testing.T, dir string) map[string]string {
	t.Helper()
	linked := filepath.Join(t.TempDir(), "parent")
	must(t, os.Symlink(filepath.Dir(dir), linked))
	return map[string]string{
		"itself":                  dir,
		"dots":                    filepath.Dir(dir) + "/./" + filepath.Base(dir) + "/../" + filepath.Base(dir),
		"through a linked parent": filepath.Join(linked, filepath.Base(dir)),
	}
}

func busy(t *testing.T, err error) {
	t.Helper()
	kind(t, err, store.Busy, root.Lock)
	if !errors.Is(err, store.Store) {
		t.Errorf("%v is not of kind store", err)
	}
}

func TestExclusionInOneProcess(t *testing.T) {
	fsys, dir := newRoot(t, blob(1))
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	for name, alias := range aliases(t, dir) {
		for _, o := range openers {
			begin := time.Now()
			busy(t, o.open(t, fsys, alias))
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("%s by %s was refused after %v", o.name, name, took)
			}
		}
	}
	must(t, s.Close())
	for _, o := range openers {
		must(t, o.open(t, fsys, dir))
	}
}

// A second name of the lock file is the same lock.
func TestExclusionByAHardLinkedLock(t *testing.T) {
	fsys, dir := newRoot(t, blob(1))
	_, twin := newRoot(t, blob(1))
	must(t, os.Remove(filepath.Join(twin, root.Lock)))
	must(t, os.Link(filepath.Join(dir, root.Lock), filepath.Join(twin, root.Lock)))
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	busy(t, openers[1].open(t, fsys, twin))
	must(t, s.Close())
	must(t, openers[1].open(t, fsys, twin))
}

func TestExclusionBetweenProcesses(t *testing.T) {
	fsys, dir := newRoot(t, blob(1))
	p := start(t, "open and close", dir)
	if p.said != "ready\n" {
		t.Fatal(p.said)
	}
	for _, alias := range aliases(t, dir) {
		for _, o := range openers {
			busy(t, o.open(t, fsys, alias))
		}
	}
	must(t, p.end())
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	if q := start(t, "open and close", dir); !strings.Contains(q.said, "refused") {
		t.Errorf("another process says %q", q.said)
	}
}

func TestProcessDeathReleasesTheLock(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 2)...)
	p := start(t, "open", dir)
	if p.said != "ready\n" {
		t.Fatal(p.said)
	}
	busy(t, openers[1].open(t, fsys, dir))
	p.kill()
	all, err := contents(t, fsys, dir)
	if err != nil || !sameRecords(all, blobs(0, 2)) {
		t.Errorf("%d records, %v", len(all), err)
	}
	// Neither the lock file nor anything in it tells of an owner.
	info, err := os.Stat(filepath.Join(dir, root.Lock))
	if err != nil || info.Size() != 0 {
		t.Errorf("the lock file: %v, %v", info, err)
	}
}

// Whichever call of an opening fails, no lock, handle or mapping is left.
func TestFailedOpeningReleasesEverything(t *testing.T) {
	for _, o := range openers {
		fired := true
		for at := 1; fired; at++ {
			base := model()
			build(t, base, "/root", blobs(0, 2)...)
			fsys := faultfs.New(base, "/root")
			fault := fsys.Inject(faultfs.Fault{
				Match: func(c faultfs.Call) bool { return c.Op != faultfs.Close && c.Op != faultfs.Unlock },
				At:    at, Err: io.ErrClosedPipe,
			})
			err := o.open(t, fsys, "/root")
			fired = fault.Fired() > 0
			if fired && err == nil && !advice(fsys) {
				t.Errorf("%s: a failed call was answered with success\n%s", o.name, fsys.Transcript(faultfs.All))
			}
			if leaks := fsys.Leaks(); len(leaks) > 0 {
				t.Errorf("%s, call %d fails: leaks %v\n%s", o.name, at, leaks, fsys.Transcript(faultfs.All))
			}
			fault.Remove()
			must(t, openers[1].open(t, fsys, "/root"))
		}
	}
}

// advice says whether the call that failed is one that nothing depends on:
// without posting lists everything is scanned, and what is looked at before the
// marker is open is looked at again under the lock.
func advice(fsys *faultfs.FS) bool {
	opened := false
	return fsys.Count(func(c faultfs.Call) bool {
		opened = opened || c.Path == root.Marker && c.Op == faultfs.Open
		return errors.Is(c.Err, io.ErrClosedPipe) && (!opened || c.Op == faultfs.DropCache || c.Op == faultfs.Space || strings.HasPrefix(c.Path, root.Indexes))
	}) > 0
}

func TestCloseReleasesEverything(t *testing.T) {
	fsys := faultfs.New(model(), "/root")
	s, err := native.Create(t.Context(), "/root", native.Options{FS: fsys, Capacity: minCapacity})
	must(t, err)
	_, err = admit(s, blobs(0, 3)...)
	must(t, err)
	if fsys.HeldLocks() != 2 || fsys.LiveMappings() != 1 {
		t.Errorf("an open store holds %v", fsys.Leaks())
	}
	fsys.Forget()
	must(t, errors.Join(s.Close(), s.Close()))
	if leaks := fsys.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks %v", leaks)
	}
	// Close and drop publish nothing.
	if calls := fsys.Transcript(faultfs.Changing); calls != "" {
		t.Errorf("close did\n%s", calls)
	}
	if _, err := s.Execute(store.CurrentStorePosition{}); !errors.Is(err, store.Integration) {
		t.Errorf("a closed store answers %v", err)
	}
}

func TestPositionMayAdvanceExternally(t *testing.T) {
	if native.PositionMayAdvanceExternally {
		t.Error("a native root has one owner")
	}
}

// waiting for a lock ends with the wait, with the owner, or with the context.
func TestLockWait(t *testing.T) {
	fsys, dir := newRoot(t, blob(1))
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = native.Open(ctx, dir, native.Options{FS: fsys, LockWait: time.Hour})
	kind(t, err, store.Interrupted)
	_, err = native.Open(t.Context(), dir, native.Options{FS: fsys, LockWait: 50 * time.Millisecond})
	busy(t, err)
	told := make(chan string, 1)
	go func() {
		<-told
		_ = s.Close() // Close is checked by the opening that waits for it
	}()
	must(t, closed(native.Open(t.Context(), dir, native.Options{
		FS: fsys, LockWait: time.Minute, Waiting: func(what string) { told <- what },
	})))
}

// The arena-lock is held exactly while the mapping or a record over it lives.
func TestArenaLockLivesAsLongAsTheLastRecord(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 2}}})
	must(t, err)
	rec := got.(store.LoadedResult).Records[0]
	got = nil
	done := s.MappingReleased()
	must(t, s.Close())
	s = nil
	runtime.GC()
	// A new Lace may open, admit and close, but not compact.
	w, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	_, err = admit(w, blob(5))
	must(t, errors.Join(err, w.Close()))
	w = nil
	called := false
	_, err = native.Compact(t.Context(), dir, native.CompactOptions{Open: native.Options{FS: fsys}}, func(ctx context.Context, b store.Backend) (*kept.Set, error) {
		called = true
		return keepAll(ctx, b)
	})
	kind(t, err, store.Busy, root.ArenaLock)
	if called {
		t.Error("the sweep ran although the first probe could not succeed")
	}
	if string(rec.Bytes) != string(blob(1)) {
		t.Error("the record has changed")
	}
	runtime.KeepAlive(rec)
	rec = store.Record{}
	released(t, done)
	must(t, openers[4].open(t, fsys, dir))
}

// Records that nobody can reach any more do not keep a compaction out, though
// no collection has happened since.
func TestUnreachableRecordsAreNotWaitedForInVain(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	for range 3 {
		all, err := contents(t, fsys, dir)
		if err != nil || len(all) != 3 {
			t.Fatal(err)
		}
		must(t, openers[4].open(t, fsys, dir))
	}
}

func TestRecordOfAnotherProcessKeepsCompactionOut(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	p := start(t, "hold a record", dir)
	if p.said != "ready\n" {
		t.Fatal(p.said)
	}
	must(t, openers[1].open(t, fsys, dir))
	kind(t, openers[4].open(t, fsys, dir), store.Busy, root.ArenaLock)
	must(t, p.end())
	must(t, openers[4].open(t, fsys, dir))
}

func TestOpeningDuringCompaction(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	_, err := native.Compact(t.Context(), dir, native.CompactOptions{Open: native.Options{FS: fsys}}, func(context.Context, store.Backend) (*kept.Set, error) {
		for _, o := range openers {
			busy(t, o.open(t, fsys, dir))
		}
		set := kept.New(3)
		set.Add(2)
		return set, nil
	})
	must(t, err)
	all, err := contents(t, fsys, dir)
	if err != nil || !sameRecords(all, blobs(1, 2)) {
		t.Errorf("%d records, %v", len(all), err)
	}
}

// A mapping shows what was admitted before, after and by another opening, and
// records stay valid across close and reopen.
func TestMappedRecordsAcrossCloseAndReopen(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 2)...)
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	_, err = admit(s, blob(2))
	must(t, err)
	got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}, {ID: 3}}})
	must(t, err)
	held := got.(store.LoadedResult).Records
	must(t, s.Close())
	w, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	_, err = admit(w, blobs(3, 9)...)
	must(t, errors.Join(err, w.Close()))
	runtime.GC()
	if string(held[0].Bytes) != string(blob(0)) || string(held[1].Bytes) != string(blob(2)) {
		t.Error("records have changed")
	}
	runtime.KeepAlive(held)
}

// A read at an old boundary sees nothing of later commits.
func TestFixedReadBoundaries(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	s, err := native.Open(t.Context(), dir, native.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	find := func(upper store.Position) int {
		got, err := s.Execute(store.FindRecords{
			Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
			UpperInclusive: upper, MaxRows: store.Unbounded,
		})
		must(t, err)
		return len(got.(store.FoundResult).Records)
	}
	for n := 3; n < 20; n++ {
		if found := find(3); found != 3 {
			t.Fatalf("%d records at boundary 3 of %d", found, n)
		}
		if found := find(store.Position(n)); found != n {
			t.Fatalf("%d records at boundary %d", found, n)
		}
		_, err := admit(s, blob(n))
		must(t, err)
	}
}
