package listdir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

var topic = index.Key{Shape: store.FieldExact, Name: "Topic", Value: "a"}

// topicPath is where the list of topic lies.
const topicPath = "field-exact/x546f706963/x61.ids"

func posting(through store.Position, ids ...store.RecordID) *index.Posting {
	var p index.Posting
	for _, id := range ids {
		p.Append(id)
	}
	p.Cover(through)
	return &p
}

func idsOf(p *index.Posting) []store.RecordID {
	var ids []store.RecordID
	p.Each(func(id store.RecordID) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

// tree returns the paths and sizes of everything below a directory.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			out = append(out, filepath.ToSlash(rel)+"/")
		} else {
			out = append(out, fmt.Sprintf("%s %d", filepath.ToSlash(rel), info.Size()))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

func publish(t *testing.T, d *listdir.Dir, k index.Key, p *index.Posting) {
	t.Helper()
	if done, err := d.Publish(k, p); !done || err != nil {
		t.Fatalf("published %t, %v", done, err)
	}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestPublishedListIsReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	if p, err := d.Read(topic, 9); p != nil || err != nil {
		t.Fatalf("before: %v, %v", p, err)
	}
	for _, want := range []*index.Posting{posting(0), posting(4, 1, 4), posting(9, 1, 4, 7)} {
		publish(t, d, topic, want)
		got, err := d.Read(topic, 9)
		if err != nil || !slices.Equal(idsOf(got), idsOf(want)) || got.CheckedThrough() != want.CheckedThrough() {
			t.Fatalf("read %v through %d, %v", idsOf(got), got.CheckedThrough(), err)
		}
	}
	want := []string{"field-exact/", "field-exact/x546f706963/", topicPath + " 32"}
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds %v, want %v", got, want)
	}
}

func TestKeyWithoutPathIsNeitherReadNorWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	long := index.Key{Shape: store.FieldPresence, Name: strings.Repeat("n", 121)}
	if done, err := d.Publish(long, posting(1, 1)); done || err != nil {
		t.Errorf("published %t, %v", done, err)
	}
	if p, err := d.Read(long, 1); p != nil || err != nil {
		t.Errorf("read %v, %v", p, err)
	}
	if got := tree(t, dir); got != nil {
		t.Errorf("the directory holds %v", got)
	}
}

func TestUnusableListsAreErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	path := filepath.Join(dir, filepath.FromSlash(topicPath))
	for name, content := range map[string][]byte{
		"empty":         {},
		"torn":          make([]byte, 13),
		"oversized":     make([]byte, 8*12),
		"zeros":         make([]byte, 8*5),
		"sentinel high": posting(11).AppendTo(nil),
		"id high":       posting(11, 11).AppendTo(nil),
	} {
		writeFile(t, path, content)
		if p, err := d.Read(topic, 10); err == nil || p != nil || !strings.Contains(err.Error(), "x61.ids") {
			t.Errorf("%s: read %v, %v", name, p, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(topic, 10); !errors.Is(err, vfs.ErrNotRegular) {
		t.Errorf("a directory gave %v", err)
	}
	if _, err := d.Publish(topic, posting(1, 1)); err == nil {
		// Removing an empty directory is allowed; one with content is not.
		t.Log("replaced an empty directory")
	}
}

func TestForeignFileInThePathOfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	writeFile(t, filepath.Join(dir, "field-exact"), []byte("a file"))
	if _, err := d.Publish(topic, posting(1, 1)); err == nil {
		t.Error("published through a file")
	}
	if p, err := d.Read(topic, 10); p != nil {
		t.Errorf("read %v, %v", p, err)
	}
	if got := tree(t, dir); !slices.Equal(got, []string{"field-exact 6"}) {
		t.Errorf("the directory holds %v", got)
	}
}

func TestRepairRemovesOwnTemporariesOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	if err := d.Repair(); err != nil {
		t.Fatalf("without a directory: %v", err)
	}
	publish(t, d, topic, posting(1, 1))
	for _, name := range []string{
		topicPath + vfs.TempSuffix,
		"field-presence/x61.ids.lace-tmp",
		"field-presence/XX.ids.lace-tmp",
		"field-presence/x61.lace-tmp",
		"notes.lace-tmp",
		"field-exact/x61/x62.ids.lace-tmp",
	} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), []byte("left over"))
	}
	if err := d.Repair(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"field-exact/", "field-exact/x546f706963/", topicPath + " 16", "field-exact/x61/",
		"field-presence/", "field-presence/XX.ids.lace-tmp 9", "field-presence/x61.lace-tmp 9", "notes.lace-tmp 9",
	}
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

func TestKeysAreThoseWithAPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	keys := []index.Key{
		topic,
		{Shape: store.FieldPresence, Name: ".."},
		{Shape: store.FieldPrefix, Name: "", Value: ""},
		{Shape: store.LinkTarget, Value: "t"},
		{Shape: store.LinkNameData, Name: "A", Value: "é"},
	}
	for _, k := range keys {
		publish(t, d, k, posting(0))
	}
	for _, name := range []string{"field-exact/x61.ids", "field-presence/x4A.ids", "field-presence/x/x.ids", "field-exact/x61/x/x/x.ids", "x.ids"} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), nil)
	}
	var got []index.Key
	if err := d.Keys(func(k index.Key) bool { got = append(got, k); return true }); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(keys) {
		t.Errorf("yields %v", got)
	}
	for _, k := range keys {
		if !slices.Contains(got, k) {
			t.Errorf("does not yield %v", k)
		}
	}
	got = nil
	if err := d.Keys(func(k index.Key) bool { got = append(got, k); return len(got) < 2 }); err != nil || len(got) != 2 {
		t.Errorf("went on to %v, %v", got, err)
	}
}

func TestListDescribesEveryEntry(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "indexes-v2")
	d := listdir.New(osfs.New(), dir)
	if entries, err := d.List(10); entries != nil || err != nil {
		t.Fatalf("without a directory: %v, %v", entries, err)
	}
	publish(t, d, topic, posting(9, 1, 4, 7))
	writeFile(t, filepath.Join(dir, "field-presence", "x61.ids"), make([]byte, 3))
	writeFile(t, filepath.Join(dir, "notes"), []byte("hello"))
	entries, err := d.List(10)
	if err != nil || len(entries) != 3 {
		t.Fatalf("lists %v, %v", entries, err)
	}
	if e := entries[0]; e.Path != topicPath || e.Key != topic || e.Records != 3 || e.CheckedThrough != 9 || e.Bytes != 32 || e.Err != nil {
		t.Errorf("the list is %+v", e)
	}
	if e := entries[1]; e.Key.Name != "a" || e.Bytes != 3 || e.Err == nil {
		t.Errorf("the torn list is %+v", e)
	}
	if e := entries[2]; e.Path != "notes" || e.Bytes != 5 || e.Err == nil {
		t.Errorf("the foreign file is %+v", e)
	}
}
