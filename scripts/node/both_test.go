package node_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// key is a list that both implementations can be asked for.
type key struct {
	args []string // of lace-node.mjs
	of   store.Constraint
}

func keys(records []store.Record) []key {
	target := records[0].Hash.String()
	return []key{
		{[]string{"field-exact", ":Type", "S"}, store.Constraint{Shape: store.FieldExact, Name: ":Type", Value: "S"}},
		{[]string{"field-presence", "By"}, store.Constraint{Shape: store.FieldPresence, Name: "By"}},
		{[]string{"field-prefix", ":Length", "1"}, store.Constraint{Shape: store.FieldPrefix, Name: ":Length", Value: "1"}},
		{[]string{"record-link-target", target}, store.Constraint{Shape: store.LinkTarget, Value: target}},
	}
}

func openOptions() profile.Options { return profile.Options{FS: osfs.New()} }

// goAdmits makes a root by the Go packages.
func goAdmits(t *testing.T, dir string, records []store.Record) {
	t.Helper()
	s, err := node.Create(t.Context(), dir, openOptions())
	if err != nil {
		t.Fatal(err)
	}
	var op store.StoreRecords
	for _, r := range records {
		op.Records = append(op.Records, store.NewRecord{Hash: r.Hash, Len: uint64(len(r.Bytes)), Body: bytes.NewReader(r.Bytes)})
	}
	_, err = s.Execute(op)
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// ask asks the Go store for a key and returns the ids.
func ask(t *testing.T, s *node.Store, of store.Constraint) string {
	t.Helper()
	got, err := s.Execute(store.FindRecords{
		Query: store.Query{Constraints: []store.Constraint{of}}, UpperInclusive: store.Latest, MaxRows: store.Unbounded,
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids strings.Builder
	for _, r := range got.(store.FoundResult).Records {
		fmt.Fprintln(&ids, uint64(r.ID))
	}
	return ids.String()
}

// goChecks proves every record and every posting list by the Go packages, and
// returns how many lists there are.
func goChecks(t *testing.T, dir string, records int) (lists int) {
	t.Helper()
	x, err := node.Profile{}.Examine(t.Context(), dir, openOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	report, err := verify.Root(t.Context(), x.Input(), verify.Options{Level: verify.Hashes})
	if err != nil || x.Damage() != nil || len(report.Bad) > 0 || report.Records != uint64(records) {
		t.Errorf("%d records, bad %v, damage %v, %v; want %d", report.Records, report.Bad, x.Damage(), err, records)
	}
	checked, err := x.CheckIndexes(t.Context())
	if err != nil || len(checked.Findings) > 0 {
		t.Errorf("posting lists: %v, %v", checked.Findings, err)
	}
	return checked.Lists
}

// thirds keeps each third record.
func thirds(_ context.Context, b store.Backend) (*kept.Set, error) {
	got, err := b.Execute(store.CurrentStorePosition{})
	if err != nil {
		return nil, err
	}
	set := kept.New(got.(store.PositionResult).Position)
	for id := store.RecordID(1); store.Position(id) <= set.Boundary(); id += 3 {
		set.Add(id)
	}
	return set, nil
}

// keptOf is what thirds keeps: the stream and the rows as JavaScript prints them.
func keptOf(records []store.Record) (stream []byte, rows string, all []store.Record) {
	for i := 0; i < len(records); i += 3 {
		r := records[i]
		rows += fmt.Sprintf("%d %s %d %d\n", len(all)+1, r.Hash, len(stream), len(r.Bytes))
		all = append(all, store.Record{ID: rowlog.ID(uint64(len(all))), Hash: r.Hash, Bytes: r.Bytes})
		stream = append(stream, r.Bytes...)
	}
	return stream, rows, all
}

// TestNodeAdmitsGoCompacts: what JavaScript admitted, and made lists of, is
// compacted by Go, also after an interruption, and read by JavaScript.
func TestNodeAdmitsGoCompacts(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprintf("interrupted %v", interrupted), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "root")
			records, stream, _ := someRecords(t)
			succeeds(t, nil, "create", dir)
			succeeds(t, stream, "admit", dir)
			for _, k := range keys(records) {
				succeeds(t, nil, append([]string{"find", dir}, k.args...)...)
			}
			if lists := goChecks(t, dir, len(records)); lists != len(keys(records)) {
				t.Errorf("Go finds %d lists of JavaScript, want %d", lists, len(keys(records)))
			}
			opts := profile.CompactOptions{Open: openOptions()}
			if interrupted {
				interruptedRun(t, dir, opts)
			}
			report, err := node.Profile{}.Compact(t.Context(), dir, opts, thirds)
			if err != nil || report.Outcome != map[bool]compact.Outcome{false: compact.Done, true: compact.Resumed}[interrupted] {
				t.Fatalf("%+v, %v", report, err)
			}
			want, rows, all := keptOf(records)
			if got := succeeds(t, nil, "rows", dir); string(got) != rows {
				t.Errorf("JavaScript reads the rows\n%s, want\n%s", got, rows)
			}
			if got := succeeds(t, nil, "export", dir); !bytes.Equal(got, want) {
				t.Errorf("JavaScript reads %d bytes, want %d", len(got), len(want))
			}
			if got := succeeds(t, nil, "lists", dir); len(got) > 0 {
				t.Errorf("lists of old ids are left: %s", got)
			}
			// Both go on from there.
			if got := succeeds(t, stream, "admit", dir); string(got) != fmt.Sprintf("admitted %d\n", len(records)-len(all)) {
				t.Errorf("the removed records again: %s", got)
			}
			goChecks(t, dir, len(records))
		})
	}
}

// interruptedRun stops a compaction before it publishes the new log, and checks
// that JavaScript refuses what is left.
func interruptedRun(t *testing.T, dir string, opts profile.CompactOptions) {
	t.Helper()
	fsys := faultfs.New(osfs.New(), dir)
	fsys.Inject(faultfs.Fault{Match: faultfs.On(faultfs.Rename, root.RecordLog+vfs.TempSuffix), At: 1, Err: syscall.EIO})
	opts.Open.FS = fsys
	if _, err := (node.Profile{}).Compact(t.Context(), dir, opts, thirds); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if _, err := run(t, nil, "rows", dir); err == nil || !strings.Contains(err.Error(), "compaction was interrupted") {
		t.Errorf("JavaScript opens an interrupted root: %v", err)
	}
}

// TestGoAdmitsNodeReads: records, rows and posting lists of Go are read by
// JavaScript, whose own lists then have the same bytes.
func TestGoAdmitsNodeReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	records, stream, log := someRecords(t)
	goAdmits(t, dir, records)
	for name, want := range map[string][]byte{root.RecordLog: log, root.Records: stream, root.Marker: []byte(root.NodeMarker)} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	s, err := node.Open(t.Context(), dir, openOptions())
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, k := range keys(records) {
		for range 2 { // asked twice, a key is worth a list
			found[k.args[0]] = ask(t, s, k.of)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := succeeds(t, nil, "export", dir); !bytes.Equal(got, stream) {
		t.Errorf("JavaScript reads %d bytes, want %d", len(got), len(stream))
	}
	lists := string(succeeds(t, nil, "lists", dir))
	for _, k := range keys(records) {
		path, _ := index.KeyOf(k.of).Path()
		ids := strings.Join(strings.Fields(found[k.args[0]]), ",")
		if line := fmt.Sprintf("%s %d %s\n", path, len(records), ids); !strings.Contains(lists, line) || ids == "" {
			t.Errorf("JavaScript reads the lists\n%swant\n%s", lists, line)
		}
		if got := succeeds(t, nil, append([]string{"find", dir}, k.args...)...); string(got) != found[k.args[0]] {
			t.Errorf("%v: JavaScript finds %s, Go %s", k.args, got, found[k.args[0]])
		}
		sameList(t, dir, records, k.of) // as JavaScript has written it since
	}
	goChecks(t, dir, len(records))
}

// TestGoReadsListsOfNode: Go answers by the lists that JavaScript stored, and
// scans nothing.
func TestGoReadsListsOfNode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	records, stream, _ := someRecords(t)
	succeeds(t, nil, "create", dir)
	succeeds(t, stream, "admit", dir)
	want := make(map[string]string)
	for _, k := range keys(records) {
		want[k.args[0]] = string(succeeds(t, nil, append([]string{"find", dir}, k.args...)...))
	}
	opts := openOptions()
	opts.ReadOnly = true
	s, err := node.Open(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, k := range keys(records) {
		if got := ask(t, s, k.of); got != want[k.args[0]] || got == "" {
			t.Errorf("%v: Go finds %s, JavaScript %s", k.args, got, want[k.args[0]])
		}
	}
	if stats := s.ListStats(); stats.ListsRead != uint64(len(want)) || stats.RecordsScanned != 0 || stats.Failures != 0 {
		t.Errorf("%+v, want %d lists read and no scan", stats, len(want))
	}
}

// TestSentinelsExcludeEachOther: whoever of the two has the root open keeps the
// other out, readers included, and names the other's process.
func TestSentinelsExcludeEachOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	records, _, _ := someRecords(t)
	goAdmits(t, dir, records)
	for _, readOnly := range []bool{false, true} {
		opts := openOptions()
		opts.ReadOnly = readOnly
		s, err := node.Open(t.Context(), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, nil, "rows", dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, root.NodeLock)) {
			t.Errorf("JavaScript beside Go: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	held := exec.CommandContext(t.Context(), nodePath(t), "lace-node.mjs", "hold", dir)
	input, err := held.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := held.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(output).ReadString('\n'); err != nil || said != "open\n" {
		t.Fatal(said, err)
	}
	for _, readOnly := range []bool{false, true} {
		opts := openOptions()
		opts.ReadOnly = readOnly
		_, err := node.Open(t.Context(), dir, opts)
		if !errors.Is(err, store.Busy) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", held.Process.Pid)) {
			t.Errorf("Go beside JavaScript: %v", err)
		}
	}
	if err := errors.Join(input.Close(), drain(output), held.Wait()); err != nil {
		t.Fatal(err)
	}
	goChecks(t, dir, len(records))
}

func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
