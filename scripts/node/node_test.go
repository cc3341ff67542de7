// Package node_test drives the JavaScript implementation of the Node layout,
// and compares what it writes with what the Go packages say of the same
// records.
package node_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// nodePath finds Node.js. lace does not need it: its program here is something
// to compare with. Where setup.sh has installed it, it must be there.
func nodePath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("Node.js is not installed, though scripts/setup.sh installs it")
	}
	t.Skip("SKIPPED: Node.js is not installed, and nothing but this comparison needs it")
	return ""
}

// run runs one command of lace-node.mjs.
func run(t *testing.T, stdin []byte, args ...string) (stdout []byte, err error) {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(nodePath(t), append([]string{"lace-node.mjs"}, args...)...)
	c.Stdin, c.Stderr = bytes.NewReader(stdin), &errs
	stdout, err = c.Output()
	if err != nil {
		err = errors.New(strings.TrimSpace(errs.String()))
	}
	return stdout, err
}

func succeeds(t *testing.T, stdin []byte, args ...string) []byte {
	t.Helper()
	out, err := run(t, stdin, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

// someRecords are random records, with links and Seals among them.
func someRecords(t *testing.T) (records []store.Record, stream, log []byte) {
	t.Helper()
	source, err := gen.NewSynthetic(gen.SyntheticOptions{Records: 60, MinSize: 50, MaxSize: 900, Seed: 5, Links: 0.4, Seals: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	for {
		view, err := source.Next(nil)
		if err == io.EOF {
			return records, stream, log
		}
		if err != nil {
			t.Fatal(err)
		}
		b := view.Bytes()
		row := rowlog.Row{Hash: view.Hash(), Offset: uint64(len(stream)), Len: uint64(len(b))}
		records = append(records, store.Record{ID: rowlog.ID(uint64(len(records))), Hash: view.Hash(), Bytes: b})
		stream, log = append(stream, b...), row.AppendTo(log)
	}
}

// The same records make the same record-log, arena and posting lists.
func TestSameBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	records, stream, log := someRecords(t)
	succeeds(t, nil, "create", dir)
	succeeds(t, stream, "admit", dir)
	if out := succeeds(t, stream, "admit", dir); string(out) != "admitted 0\n" {
		t.Errorf("the same records again: %s", out)
	}
	for name, want := range map[string][]byte{"record-log": log, "records": stream} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	if out := succeeds(t, nil, "export", dir); !bytes.Equal(out, stream) {
		t.Errorf("exported %d bytes, want %d", len(out), len(stream))
	}
	for _, k := range keys(records) {
		succeeds(t, nil, append([]string{"find", dir}, k.args...)...)
		sameList(t, dir, records, k.of)
	}
}

// sameList compares a stored list with a scan by the Go packages.
func sameList(t *testing.T, dir string, records []store.Record, of store.Constraint) {
	t.Helper()
	path, ok := index.KeyOf(of).Path()
	if !ok {
		t.Fatalf("%v has no path", of)
	}
	b, err := os.ReadFile(filepath.Join(dir, "indexes-v2", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	var want index.Posting
	for _, r := range records {
		match, err := index.Match(r, store.Query{Constraints: []store.Constraint{of}})
		if err != nil {
			t.Fatal(err)
		}
		if match {
			want.Append(r.ID)
		}
	}
	want.Cover(store.Position(len(records)))
	if want.Len() == 0 {
		t.Errorf("%v matches nothing, which compares nothing", of)
	}
	if !bytes.Equal(b, want.AppendTo(nil)) {
		t.Errorf("the list of %v is %x, want %x", of, b, want.AppendTo(nil))
	}
}

// A root whose owner died is refused until the sentinel is deleted by hand.
func TestSentinel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	succeeds(t, nil, "create", dir)
	succeeds(t, nil, "abandon", dir)
	if _, err := run(t, nil, "rows", dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "node-lock")) {
		t.Errorf("a stale sentinel: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "node-lock")); err != nil {
		t.Fatal(err)
	}
	succeeds(t, nil, "rows", dir)
}
