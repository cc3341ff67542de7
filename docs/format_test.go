// Package docs_test decodes the examples of the documentation.
package docs_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// example returns the bytes of a hex example of format.md.
func example(t *testing.T, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile("format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(doc), "<!-- example "+name+" -->\n```\n")
	body, _, closed := strings.Cut(after, "```")
	if !ok || !closed {
		t.Fatalf("format.md has no example of %s", name)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExampleMarker(t *testing.T) {
	if got := string(example(t, "store-format")); got != root.NativeMarker {
		t.Errorf("marker %q, want %q", got, root.NativeMarker)
	}
}

func TestExampleRow(t *testing.T) {
	encoded := example(t, "record-log")
	row, err := rowlog.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := record.BuildBlob(nil, []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (rowlog.Row{Hash: blob.Hash(), Offset: 0, Len: uint64(len(blob.Bytes()))}); row != want {
		t.Errorf("row %v, want %v", row, want)
	}
	if again := row.AppendTo(nil); !slices.Equal(again, encoded) {
		t.Errorf("the row encodes to %x", again)
	}
}

func TestExamplePostingList(t *testing.T) {
	list, err := index.DecodePosting(example(t, "posting-list"), 4)
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.RecordID
	list.Each(func(id store.RecordID) bool { ids = append(ids, id); return true })
	if !slices.Equal(ids, []store.RecordID{1, 3}) || list.CheckedThrough() != 4 {
		t.Errorf("ids %v through %d, want [1 3] through 4", ids, list.CheckedThrough())
	}
}

func TestExampleKeptFile(t *testing.T) {
	encoded := example(t, "kept")
	f, err := kept.NewReader(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	set, err := f.Set()
	if err != nil {
		t.Fatal(err)
	}
	rootLog := [32]byte(bytes.Repeat([]byte{1}, 32))
	if f.Header.RootLog != rootLog || set.Boundary() != 4 || !slices.Equal(slices.Collect(set.IDs()), []store.RecordID{1, 3}) {
		t.Errorf("header %+v, ids %v", f.Header, slices.Collect(set.IDs()))
	}
	var again bytes.Buffer
	if err := set.WriteFile(&again, rootLog, f.Header.Policies); err != nil || !slices.Equal(again.Bytes(), encoded) {
		t.Errorf("the set is written as %x (%v)", again.Bytes(), err)
	}
}
