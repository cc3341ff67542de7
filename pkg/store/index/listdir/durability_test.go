package listdir_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// The order of the calls is what a crash meets; it is a golden file.
func TestPublicationTranscript(t *testing.T) {
	root := t.TempDir()
	fsys := faultfs.New(osfs.New(), root)
	d := listdir.New(fsys, filepath.Join(root, "indexes-v2"))
	var got strings.Builder
	step := func(title string, act func()) {
		fsys.Forget()
		act()
		got.WriteString("# " + title + "\n" + fsys.Transcript(faultfs.Changing) + "\n")
	}
	step("first publication", func() { publish(t, d, topic, posting(4, 1, 4)) })
	step("replacement", func() { publish(t, d, topic, posting(9, 1, 4, 7)) })
	writeFile(t, filepath.Join(root, "indexes-v2", filepath.FromSlash(topicPath))+vfs.TempSuffix, []byte("left"))
	step("replacement beside a leftover", func() { publish(t, d, topic, posting(9, 1, 4, 7)) })
	writeFile(t, filepath.Join(root, "indexes-v2", filepath.FromSlash(topicPath))+vfs.TempSuffix, []byte("left"))
	step("repair", func() {
		if err := d.Repair(); err != nil {
			t.Fatal(err)
		}
	})
	step("repair of what is in order", func() {
		if err := d.Repair(); err != nil {
			t.Fatal(err)
		}
	})
	step("reading", func() {
		if _, err := d.Read(topic, 9); err != nil {
			t.Fatal(err)
		}
	})
	const golden = "testdata/publication.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the transcript is\n%s\nwant\n%s", got.String(), want)
	}
	if leaks := fsys.Leaks(); len(leaks) != 0 {
		t.Errorf("left open: %v", leaks)
	}
}

// versions are the lists that a test publishes one after the other.
func versions() []*index.Posting {
	return []*index.Posting{posting(4, 1, 4), posting(9, 1, 4, 7), posting(20, 1, 4, 7, 12, 20)}
}

// version says which of the published lists is there: -1 for none.
func version(t *testing.T, d *listdir.Dir, when string) int {
	t.Helper()
	p, err := d.Read(topic, 20)
	if err != nil {
		t.Fatalf("%s: the list is unusable: %v", when, err)
	}
	if p == nil {
		return -1
	}
	i := slices.IndexFunc(versions(), func(v *index.Posting) bool {
		return slices.Equal(idsOf(v), idsOf(p)) && v.CheckedThrough() == p.CheckedThrough()
	})
	if i < 0 {
		t.Fatalf("%s: the list is %v through %d, which nobody published", when, idsOf(p), p.CheckedThrough())
	}
	return i
}

// Synced replacement and crash recovery: whichever call the power is cut at,
// and whatever survives of what was not durable, the list is absent, wholly
// old or wholly new; once publishing returned it is the new one; repair leaves
// no temporary; and the next publication works.
func TestCrashAtEveryCallOfAPublication(t *testing.T) {
	states := 0
	for _, options := range []crashfs.Options{{}, {OrderedEntries: true}} {
		base := crashfs.New(options)
		if err := base.Mkdir("/root"); err != nil {
			t.Fatal(err)
		}
		if err := base.SyncDir("/"); err != nil {
			t.Fatal(err)
		}
		for done, list := range versions() {
			for k := 1; ; k++ {
				run := base.Clone()
				run.CrashAt(run.Calls() + k)
				published, err := listdir.New(run, "/root/indexes-v2").Publish(topic, list)
				if published == (err != nil) {
					t.Fatalf("published %t with %v", published, err)
				}
				for _, s := range run.Survivors(16, uint64(k)) {
					states++
					when := "version " + string(rune('0'+done)) + ", " + s.String()
					checkAfterCrash(t, run.Crash(s), when, done, published)
				}
				if published {
					base = run
					break
				}
			}
		}
	}
	if states < 200 {
		t.Errorf("looked at %d states only", states)
	}
}

func checkAfterCrash(t *testing.T, after *crashfs.FS, when string, done int, published bool) {
	t.Helper()
	// Without a repair in between a leftover must be in nobody's way.
	unrepaired := listdir.New(after.Clone(), "/root/indexes-v2")
	if _, err := unrepaired.Publish(topic, versions()[2]); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if got := version(t, unrepaired, when); got != 2 {
		t.Fatalf("%s: publishing at once left version %d", when, got)
	}
	d := listdir.New(after, "/root/indexes-v2")
	got := version(t, d, when)
	if got >= 0 && got < done-1 {
		t.Fatalf("%s: the list is version %d, older than what was replaced", when, got)
	}
	if published && got != done {
		t.Fatalf("%s: published, but the list is version %d", when, got)
	}
	if err := d.Repair(); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	entries, err := d.List(20)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for _, e := range entries {
		if e.Err != nil {
			t.Fatalf("%s: %s is left over: %v", when, e.Path, e.Err)
		}
	}
	if again := version(t, d, when); again != got {
		t.Fatalf("%s: repair made version %d of version %d", when, again, got)
	}
	if _, err := d.Publish(topic, versions()[2]); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if again := version(t, d, when); again != 2 {
		t.Fatalf("%s: after the next publication the list is version %d", when, again)
	}
}

// A call that fails, before or after it took effect, leaves the old list, none
// or the new one, and no temporary.
func TestFailureAtEveryCallOfAPublication(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k := 1; ; k++ {
			root := t.TempDir()
			fsys := faultfs.New(osfs.New(), root)
			d := listdir.New(fsys, filepath.Join(root, "indexes-v2"))
			publish(t, d, topic, versions()[0])
			fault := fsys.Inject(faultfs.Fault{At: k, Err: syscall.ENOSPC, After: after})
			_, err := d.Publish(topic, versions()[1])
			fault.Remove()
			if fault.Fired() == 0 {
				if err != nil || k < 6 {
					t.Fatalf("call %d: %v", k, err)
				}
				break
			}
			if err == nil && after && k == 1 {
				continue // the absent leftover was absent: the call did what it should
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("call %d failed and publishing answered %v", k, err)
			}
			version(t, d, "after a failed call")
			if leaks := fsys.Leaks(); len(leaks) != 0 {
				t.Errorf("call %d: left open: %v", k, leaks)
			}
			for _, line := range tree(t, root) {
				if strings.Contains(line, vfs.TempSuffix) && !removalFailed(fsys) {
					t.Errorf("call %d: left %s", k, line)
				}
			}
		}
	}
}

// removalFailed says that the temporary could not be removed, which nobody
// can help.
func removalFailed(fsys *faultfs.FS) bool {
	return fsys.Count(func(c faultfs.Call) bool {
		return c.Op == faultfs.Remove && strings.HasSuffix(c.Path, vfs.TempSuffix) && errors.Is(c.Err, syscall.ENOSPC)
	}) > 0
}

func TestUnreadableListIsAnError(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.Open, faultfs.StatFile, faultfs.Read, faultfs.Close} {
		root := t.TempDir()
		fsys := faultfs.New(osfs.New(), root)
		d := listdir.New(fsys, root)
		publish(t, d, topic, versions()[0])
		fault := fsys.Inject(faultfs.Fault{Match: func(c faultfs.Call) bool { return c.Op == op }, Err: syscall.EIO})
		if p, err := d.Read(topic, 9); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s failed and reading answered %v, %v", op, p, err)
		}
		if fault.Fired() == 0 {
			t.Errorf("%s was never called", op)
		}
		if leaks := fsys.Leaks(); len(leaks) != 0 {
			t.Errorf("%s: left open: %v", op, leaks)
		}
	}
}

func TestUnreadableDirectoryIsAnError(t *testing.T) {
	root := t.TempDir()
	fsys := faultfs.New(osfs.New(), root)
	d := listdir.New(fsys, root)
	publish(t, d, topic, versions()[0])
	fsys.Inject(faultfs.Fault{Match: func(c faultfs.Call) bool { return c.Op == faultfs.List }, Err: syscall.EIO, KeepFailing: true})
	if err := d.Keys(func(index.Key) bool { return true }); !errors.Is(err, syscall.EIO) {
		t.Errorf("keys: %v", err)
	}
	if _, err := d.List(9); !errors.Is(err, syscall.EIO) {
		t.Errorf("list: %v", err)
	}
	if _, err := d.Check(newRows(3)); !errors.Is(err, syscall.EIO) {
		t.Errorf("check: %v", err)
	}
	if err := d.Repair(); !errors.Is(err, syscall.EIO) {
		t.Errorf("repair: %v", err)
	}
}
