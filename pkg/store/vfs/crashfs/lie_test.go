package crashfs_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	. "github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// losing finds a seed with which a failed sync of run's state loses the change
// to /a altogether.
func losing(t *testing.T, o Options, lie Lie, prepare func(script), sync func(*FS) error) script {
	t.Helper()
	for seed := range uint64(100) {
		s := newScript(t, o)
		prepare(s)
		before := show(t, s.Crash(None()))
		s.FailSync(s.Calls()+1, lie, seed)
		if err := sync(s.FS); !errors.Is(err, syscall.EIO) || !s.SyncFailed() {
			t.Fatalf("the sync that was to fail returned %v", err)
		}
		if lie == ShutDown || show(t, s.Crash(All())) == before {
			return s
		}
	}
	t.Fatal("no seed loses everything")
	return script{}
}

func overwritten(s script) {
	s.durable("/a", strings.Repeat("o", 512))
	s.write("/a", 0, strings.Repeat("n", 512))
}

func syncFile(f *FS) error {
	h, err := f.OpenFile("/a", vfs.ReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(h.Sync(), h.Close())
}

func TestFailedSyncCleanAndNew(t *testing.T) {
	news, olds := "a="+strings.Repeat("n", 512), "a="+strings.Repeat("o", 512)
	for _, ignore := range []bool{false, true} {
		s := losing(t, Options{IgnoreDropCache: ignore}, CleanAndNew, overwritten, syncFile)
		if got := show(t, s.FS); got != news {
			t.Errorf("the cache shows %.10q, want the new bytes", got)
		}
		s.must(syncFile(s.FS))
		if got := outcomes(t, s.FS); !slices.Equal(got, []string{olds}) {
			t.Errorf("the second sync says ok, and the disk has %.10q", got)
		}
		killed := script{t, s.Clone()}
		if got := show(t, killed.FS); got != news {
			t.Errorf("the next process of the same boot sees %.10q", got)
		}
		s.must(s.open("/a").DropCache(0, 1<<20))
		want := olds
		if ignore {
			want = news
		}
		if got := show(t, s.FS); got != want {
			t.Errorf("after DropCache (ignored: %v) reads show %.10q", ignore, got)
		}
		killed.write("/a", 0, strings.Repeat("n", 512))
		killed.sync("/a")
		if got := outcomes(t, killed.FS); !slices.Equal(got, []string{news}) {
			t.Errorf("written again and synced, the disk has %.10q", got)
		}
	}
}

func TestFailedSyncCleanAndOld(t *testing.T) {
	olds := "a=" + strings.Repeat("o", 512)
	s := losing(t, Options{}, CleanAndOld, overwritten, syncFile)
	if got := show(t, s.FS); got != olds {
		t.Errorf("the cache shows %.10q, want the old bytes", got)
	}
	s.must(syncFile(s.FS))
	if got := outcomes(t, s.FS); !slices.Equal(got, []string{olds}) {
		t.Errorf("the disk has %.10q", got)
	}
}

func TestFailedSyncShutsDown(t *testing.T) {
	s := losing(t, Options{}, ShutDown, overwritten, syncFile)
	if err := syncFile(s.FS); !errors.Is(err, syscall.EIO) {
		t.Errorf("after the shutdown: %v", err)
	}
	if _, err := s.Stat("/"); !errors.Is(err, syscall.EIO) || s.Crashed() {
		t.Errorf("after the shutdown: %v", err)
	}
	if got := outcomes(t, s.FS); len(got) != 2 {
		t.Errorf("after the reboot one of %.30q, want old or new", got)
	}
}

func TestFailedSyncOfHole(t *testing.T) {
	s := losing(t, Options{}, CleanAndNew, func(s script) {
		s.durable("/a", strings.Repeat("o", 512))
		s.must(s.open("/a").PunchHole(0, 512))
	}, syncFile)
	f := s.open("/a")
	s.must(f.PunchHole(0, 512))
	s.must(f.Sync())
	if got := contents(t, s.FS, "/a"); strings.Trim(got, ".") != "" {
		t.Errorf("the cache shows %.10q, want the hole", got)
	}
	// The file system thinks that there is nothing left to free.
	if got := contents(t, s.Crash(All()), "/a"); strings.Trim(got, "o") != "" {
		t.Errorf("the disk has %.10q, want the bytes that were never freed", got)
	}
}

func TestFailedSyncOfDirectory(t *testing.T) {
	syncDir := func(f *FS) error { return f.SyncDir("/") }
	renamed := func(s script) {
		s.durable("/b", "old")
		s.write("/a", 0, "new")
		s.sync("/a")
		s.must(s.SyncDir("/"))
		s.must(s.Rename("/a", "/b"))
	}
	s := losing(t, Options{}, CleanAndNew, renamed, syncDir)
	if got := show(t, s.FS); got != "b=new" {
		t.Errorf("the cache shows %q", got)
	}
	s.must(syncDir(s.FS))
	if got := outcomes(t, s.FS); !slices.Equal(got, []string{"a=new b=old"}) {
		t.Errorf("the second sync says ok, and the disk has %q", got)
	}
	s = losing(t, Options{}, CleanAndOld, renamed, syncDir)
	if got := show(t, s.FS); got != "a=new b=old" {
		t.Errorf("the cache shows %q", got)
	}
}

// A failed sync leaves some of the changes on the disk, as the seed has it.
func TestFailedSyncIsPartial(t *testing.T) {
	var none, some, all bool
	for seed := range uint64(60) {
		s := newScript(t, Options{})
		s.durable("/a", strings.Repeat("o", 8*512))
		s.write("/a", 0, strings.Repeat("n", 8*512))
		s.FailSync(1, CleanAndNew, seed)
		if err := syncFile(s.FS); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		switch n := strings.Count(contents(t, s.Crash(All()), "/a"), "n"); n {
		case 0:
			none = true
		case 8 * 512:
			all = true
		default:
			some = true
		}
	}
	if !none || !some || !all {
		t.Errorf("nothing reached the disk: %v, something: %v, everything: %v", none, some, all)
	}
}

func TestLostWriteback(t *testing.T) {
	for _, report := range []bool{false, true} {
		lost := false
		for seed := range uint64(60) {
			s := newScript(t, Options{})
			overwritten(s)
			s.LoseWriteback(seed, report)
			if err := syncFile(s.FS); errors.Is(err, syscall.EIO) != report {
				t.Fatalf("report %v: the next sync returns %v", report, err)
			}
			s.must(syncFile(s.FS))
			lost = lost || show(t, s.Crash(All())) == "a="+strings.Repeat("o", 512)
		}
		if !lost {
			t.Error("no seed lost the bytes")
		}
	}
}

func TestEvictShowsTheDisk(t *testing.T) {
	s := losing(t, Options{}, CleanAndNew, overwritten, syncFile)
	shown := false
	for seed := range uint64(20) {
		twin := s.Clone()
		twin.Evict(seed)
		shown = shown || show(t, twin) == "a="+strings.Repeat("o", 512)
	}
	if !shown {
		t.Error("no seed evicted the lying sector")
	}
	s.write("/a", 0, strings.Repeat("x", 512))
	for seed := range uint64(20) {
		s.Evict(seed)
	}
	if got := show(t, s.FS); got != "a="+strings.Repeat("x", 512) {
		t.Errorf("an eviction took a dirty sector: %.10q", got)
	}
	// Without a failed sync there is nothing to see, dirty or clean.
	honest := newScript(t, Options{})
	overwritten(honest)
	before := show(t, honest.FS)
	honest.Evict(1)
	honest.must(honest.open("/a").DropCache(0, 1<<20))
	if got := show(t, honest.FS); got != before {
		t.Errorf("an honest cache shows %.10q after an eviction", got)
	}
}

func TestReleaseAtOnce(t *testing.T) {
	s := newScript(t, Options{ReleaseAtOnce: true})
	s.durable("/a", "1234")
	lock := s.open("/a")
	m, err := s.open("/a").Map(4, lock)
	s.must(err)
	b, owner := m.View(1, 2)
	m.Release()
	select {
	case <-m.Released():
	default:
		t.Error("not released at once")
	}
	if string(b) != "23" || owner == nil {
		t.Errorf("the view holds %q", b)
	}
	if err := lock.Sync(); err == nil {
		t.Error("keep was not closed")
	}
}
