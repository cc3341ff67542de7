//go:build cgo

package lmdb_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// otherVariable makes a test process be another user of a root:
// "record DIR 0 0", or "admit DIR FROM TO", or "stall DIR FROM TO", which stops
// right before its commit.
const otherVariable = "LACE_LMDB_OTHER"

// TestOtherProcess is that process. It says what it has reached, and goes on
// with each line of its input.
func TestOtherProcess(t *testing.T) {
	if os.Getenv(otherVariable) == "" {
		t.Skip("SKIPPED: does something only in the processes that TestProcessesShareARoot and others start, which set " + otherVariable)
	}
	var what, dir string
	var from, to int
	n, err := fmt.Sscan(os.Getenv(otherVariable), &what, &dir, &from, &to)
	if n < 4 {
		t.Fatal(err)
	}
	in := bufio.NewScanner(os.Stdin)
	step := func(reached string) { fmt.Println(reached); in.Scan() }
	p := lmdb.Profile{}
	if what == "stall" {
		p = p.Committing(func() error { step("committing"); return nil })
	}
	s, err := p.Open(t.Context(), dir, profile.Options{FS: osfs.New()})
	if err != nil {
		t.Fatal(err)
	}
	step("open")
	if what != "record" {
		for i := from; i < to; i++ {
			admitAndFind(t, s, blob(i))
		}
		step("admitted")
		must(t, s.Close())
		step("closed")
		return
	}
	got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}}})
	must(t, errors.Join(err, s.Close()))
	step("closed")
	rec := got.(store.LoadedResult).Records[0]
	must(t, record.VerifyBytes(rec.Bytes, rec.Hash))
	runtime.KeepAlive(rec)
}

// admitAndFind admits one record, and requires that a posting list, its hash
// and its id find it right away, and that the position is beyond it.
func admitAndFind(t *testing.T, s store.Backend, rec []byte) {
	t.Helper()
	got, err := s.Execute(storeOp(rec))
	must(t, err)
	id := got.(store.StoredResult).Outcomes[0].ID
	if now := got.(store.StoredResult).Position; store.Position(id) > now {
		t.Errorf("record #%d at position %d", id, now)
	}
	found, err := s.Execute(store.FindRecords{
		Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
		LowerExclusive: store.Position(id - 1), UpperInclusive: store.Position(id), MaxRows: 1,
	})
	must(t, err)
	records := found.(store.FoundResult).Records
	if len(records) != 1 || string(records[0].Bytes) != string(rec) {
		t.Fatalf("record #%d is not found by its type", id)
	}
	resolved, err := s.Execute(store.ResolveStoreRecordIDs{Hashes: []record.Hash{records[0].Hash}, ReadThrough: store.Latest})
	must(t, err)
	if resolved.(store.ResolvedResult).IDs[0] != id {
		t.Errorf("record #%d resolves to %v", id, resolved)
	}
}

// other is another process of this test.
type other struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startOther(t *testing.T, what, dir string, from, to int) *other {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOtherProcess$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", otherVariable, what, dir, from, to))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	o := &other{t, cmd, in, bufio.NewScanner(out)}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return o
}

// reach waits until the process says that.
func (o *other) reach(want string) {
	o.t.Helper()
	var said []string
	for o.out.Scan() {
		if o.out.Text() == want {
			return
		}
		said = append(said, o.out.Text())
	}
	o.t.Fatalf("the other process did not reach %q: %s", want, strings.Join(said, "\n"))
}

func (o *other) goOn() {
	_, err := fmt.Fprintln(o.in)
	must(o.t, err)
}

// end lets the process end, and requires that it ends well.
func (o *other) end() {
	o.t.Helper()
	must(o.t, o.in.Close())
	for o.out.Scan() {
		if strings.Contains(o.out.Text(), "FAIL") {
			o.t.Error(o.out.Text())
		}
	}
	must(o.t, o.cmd.Wait())
}

func requireBusy(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, store.Busy) {
		t.Errorf("want busy, got %v", err)
	}
}

// Two processes admit to and query one root while a third tries to compact it:
// it is refused every time, and nothing is lost.
func TestProcessesShareARoot(t *testing.T) {
	_, dir, s := newRoot(t, blobs(0, 10)...)
	must(t, s.Close())
	fsys := osfs.New()
	all := func(store.RecordID) bool { return true }
	a, b := startOther(t, "admit", dir, 10, 60), startOther(t, "admit", dir, 40, 90)
	a.reach("open")
	b.reach("open")
	a.goOn()
	b.goOn()
	for range 5 {
		_, err := lmdb.Profile{}.Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
		requireBusy(t, err)
	}
	a.reach("admitted")
	b.reach("admitted")
	_, err := lmdb.Profile{}.Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
	requireBusy(t, err)
	a.end()
	b.end()
	got := contents(t, fsys, dir)
	seen := map[string]bool{}
	for _, rec := range got {
		seen[string(rec)] = true
	}
	for _, rec := range blobs(0, 90) {
		if !seen[string(rec)] {
			t.Errorf("a record is lost: %.80q", rec)
		}
	}
	if len(got) != 90 {
		t.Errorf("%d records, want 90", len(got))
	}
	if _, err := (lmdb.Profile{}).Compact(t.Context(), dir, compactOptions(fsys), keeping(all)); err != nil {
		t.Errorf("compact afterwards: %v", err)
	}
}

// A store sees what another process has admitted since, and an old boundary
// stays what it was.
func TestPositionAdvancesExternally(t *testing.T) {
	if !lmdb.PositionMayAdvanceExternally {
		t.Error("the adoption metadata says that it does not")
	}
	_, dir, s := newRoot(t, blobs(0, 10)...)
	o := startOther(t, "admit", dir, 10, 300)
	o.reach("open")
	o.goOn()
	o.reach("admitted")
	if got := s.Position(); got != 300 {
		t.Errorf("position %d, want 300", got)
	}
	got, err := s.Execute(store.FindRecords{UpperInclusive: 10, MaxRows: store.Unbounded})
	must(t, err)
	if found := got.(store.FoundResult); len(found.Records) != 10 || !found.Complete {
		t.Errorf("through the old boundary: %d records", len(found.Records))
	}
	rows, err := s.Rows(10)
	must(t, err)
	n := 0
	for _, err := range rows.All() {
		must(t, err)
		n++
	}
	if n != 10 || rows.Position() != 10 {
		t.Errorf("%d rows through the old boundary, position %d", n, rows.Position())
	}
	o.end()
}

// What another process has grown beyond the map of this one is mapped when it is
// met, by a reader and by a writer.
func TestMapGrownByAnother(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 10)...)
	must(t, s.Close())
	const mapped = 1 << 17
	b, err := lmdb.Quick().Mapping(mapped).Open(t.Context(), dir, profile.Options{FS: fsys})
	must(t, err)
	o := startOther(t, "admit", dir, 10, 300)
	o.reach("open")
	o.goOn()
	o.reach("admitted")
	if info, err := os.Stat(filepath.Join(dir, root.LMDBData)); err != nil || info.Size() <= mapped {
		t.Errorf("data.mdb has %v (%v), which is not more than the %d bytes mapped here", info, err, mapped)
	}
	sameRecords(t, load(t, b), blobs(0, 300))
	_, err = profiletest.Admit(b, blobs(300, 310)...)
	must(t, errors.Join(err, b.Close()))
	o.end()
	sameRecords(t, contents(t, fsys, dir), blobs(0, 310))
}

// A process that is killed in the middle of an admission leaves nothing of it, and
// its write lock to the others, who have the root open all the while.
func TestKilledWriterLeavesTheLock(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 10)...)
	o := startOther(t, "stall", dir, 10, 11)
	o.reach("open")
	o.goOn()
	o.reach("committing")
	must(t, o.cmd.Process.Kill())
	_ = o.cmd.Wait() // it was killed
	got, err := profiletest.Admit(s, blobs(20, 25)...)
	if err != nil || got.Position != 15 {
		t.Fatalf("%+v, %v", got, err)
	}
	sameRecords(t, load(t, s), append(blobs(0, 10), blobs(20, 25)...))
	must(t, s.Close())
	sameRecords(t, contents(t, fsys, dir), append(blobs(0, 10), blobs(20, 25)...))
}

// A record that outlives its store keeps compaction out, in this process and
// in another.
func TestLiveRecordKeepsCompactionOut(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 10)...)
	got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 3}}})
	must(t, errors.Join(err, s.Close()))
	_, err = lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
	requireBusy(t, err)
	rec := got.(store.LoadedResult).Records[0]
	must(t, record.VerifyBytes(rec.Bytes, rec.Hash))
	runtime.KeepAlive(rec)
	got = nil

	o := startOther(t, "record", dir, 0, 0)
	o.reach("open")
	_, err = lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
	requireBusy(t, err)
	o.goOn()
	o.reach("closed")
	_, err = lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
	requireBusy(t, err)
	o.end()
	_, err = lmdb.Quick().Compact(t.Context(), dir, compactOptions(fsys), keeping(even))
	must(t, err)
	sameRecords(t, contents(t, fsys, dir), everySecond(blobs(0, 10)))
}

// Simultaneous openings of one root all succeed.
func TestSimultaneousOpens(t *testing.T) {
	_, dir, s := newRoot(t, blobs(0, 3)...)
	must(t, s.Close())
	var all []*other
	for range 6 {
		all = append(all, startOther(t, "admit", dir, 0, 0))
	}
	for _, o := range all {
		o.reach("open")
	}
	for _, o := range all {
		o.end()
	}
}

// A process has one environment of a root: a second would let go of the locks
// of the first.
func TestOneEnvironmentInAProcess(t *testing.T) {
	fsys, dir, s := newRoot(t, blobs(0, 3)...)
	_, err := lmdb.Quick().Open(t.Context(), dir, profile.Options{FS: fsys})
	requireBusy(t, err)
	_, err = lmdb.Quick().Examine(t.Context(), dir, profile.Options{FS: fsys})
	requireBusy(t, err)
	sameRecords(t, load(t, s), blobs(0, 3))
	must(t, s.Close())
	sameRecords(t, contents(t, fsys, dir), blobs(0, 3))
}
