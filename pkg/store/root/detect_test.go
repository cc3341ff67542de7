package root

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestDetect(t *testing.T) {
	for marker, want := range map[string]string{
		"lace-native-filesystem-shaped-store/6\n": "native",
		"lace-native-lmdb-store/6\n":              "LMDB",
		"lace-node-filesystem-shaped-store/4\n":   "Node",
		"lace-filesystem-shaped-store/6\n":        "OPFS",
		"lace-local-storage-store/4\n":            "local storage",
	} {
		dir := t.TempDir()
		write(t, dir, Marker, marker)
		write(t, dir, RecordLog, "whatever")
		fsys := faultfs.New(osfs.New(), dir)
		if got, err := Detect(fsys, dir); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", marker, got, err, want)
		}
		// Nothing but the marker is touched, and nothing is written.
		for _, c := range fsys.Calls(faultfs.All) {
			if c.Path != Marker || c.Op.Changing() || c.Op == faultfs.Lock {
				t.Errorf("%q: detecting does %v", marker, c)
			}
		}
		if leaks := fsys.Leaks(); len(leaks) > 0 {
			t.Errorf("leaks %v", leaks)
		}
	}
}

func TestDetectRefuses(t *testing.T) {
	for _, c := range []struct{ name, marker, want string }{
		{"empty marker", "", "an unfinished marker of 0 bytes"},
		{"torn marker", "lace-native-filesys", "an unfinished marker of 19 bytes"},
		{"marker without its end of line", strings.TrimSuffix(NativeMarker, "\n"), "an unfinished marker of 37 bytes"},
		{"torn marker of its full size", "lace-native" + strings.Repeat("\x00", len(NativeMarker)-11), "an unfinished marker of 38 bytes"},
		{"zeros beyond every marker", strings.Repeat("\x00", len(NativeMarker)+1), "a foreign marker"},
		{"torn marker of another profile", "lace-node-", "an unfinished marker"},
		{"another version", "lace-native-filesystem-shaped-store/7\n", `"lace-native-filesystem-shaped-store/7"`},
		{"one byte more", NativeMarker + "x", "a foreign marker"},
		{"control characters", "\x1b[2J", `"\x1b[2J"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, Marker, c.marker)
			_, err := Detect(osfs.New(), dir)
			if !errors.Is(err, store.NotRoot) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Detect = %v, want %q", err, c.want)
			}
		})
	}
}

// An unfinished marker says how to finish the root, of every profile that could
// have begun so and that is made here.
func TestUnfinishedMarkerSaysHowToFinish(t *testing.T) {
	for marker, want := range map[string]string{
		"lace-node-":    "lace admit DIR --create --profile node finishes making it",
		"lace-native-l": "lace admit DIR --create --profile lmdb finishes making it",
		"lace-native-f": "lace admit DIR --create --profile native finishes making it",
		"":              "lace admit DIR --create finishes making it, with the one of --profile native, --profile lmdb, --profile node that it was to have",
		"lace-na":       "lace admit DIR --create finishes making it, with the one of --profile native, --profile lmdb that it was to have",
		"lace-local":    "",
	} {
		_, err := Judge([]byte(marker), "DIR")
		var e *store.Error
		if !errors.As(err, &e) || e.Hint != want {
			t.Errorf("%q: hint of %+v, want %q", marker, e, want)
		}
	}
}

func TestDetectOfWhatIsNoRoot(t *testing.T) {
	empty, linked, nested := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, linked, "elsewhere", NativeMarker)
	if err := os.Symlink("elsewhere", filepath.Join(linked, Marker)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(nested, Marker), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"nothing": filepath.Join(empty, "absent"), "an empty directory": empty,
		"a file": filepath.Join(linked, "elsewhere"), "a marker that is a link": linked, "a marker that is a directory": nested,
	} {
		if _, err := Detect(osfs.New(), dir); !errors.Is(err, store.NotRoot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDetectReadsLittle(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Marker, NativeMarker)
	if err := os.Truncate(filepath.Join(dir, Marker), 1<<40); err != nil {
		t.Fatal(err)
	}
	fsys := faultfs.New(osfs.New(), dir)
	if _, err := Detect(fsys, dir); !errors.Is(err, store.NotRoot) {
		t.Errorf("Detect = %v", err)
	}
	reads := fsys.Calls(faultfs.On(faultfs.Read, Marker))
	if len(reads) != 1 || reads[0].Len != int64(len(NativeMarker)+1) {
		t.Errorf("reads %v", reads)
	}
}

// Detect asks for the longest marker, which must be the native one.
func TestNativeMarkerIsTheLongest(t *testing.T) {
	for m := range markers() {
		if len(m) > len(NativeMarker) {
			t.Errorf("%q is longer", m)
		}
	}
}

func TestCompactionEntriesAreWhatOrdinaryOpenRefuses(t *testing.T) {
	want := "compaction-plan compaction-state compaction-journal " +
		"compaction-plan.lace-tmp compaction-state.lace-tmp compaction-journal.lace-tmp record-log.lace-tmp"
	if got := strings.Join(CompactionEntries(), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
