package crashfs_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store/vfs"
	. "github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// TestAgainstDenseFile drives one file at random beside a plain byte slice. It
// checks reads, what a crash leaves at both extremes, and that every sector of
// every other outcome is one that the file has had since its last sync.
func TestAgainstDenseFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDense(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			d.step(t)
			if got := d.read(t, d.fs); !bytes.Equal(got, d.now) {
				t.Fatalf("reads %q, want %q", got, d.now)
			}
		}
		if got := d.read(t, d.fs.Crash(None())); !bytes.Equal(got, d.synced) {
			t.Fatalf("nothing kept: %q, want %q", got, d.synced)
		}
		if got := d.read(t, d.fs.Crash(All())); !bytes.Equal(got, d.now) {
			t.Fatalf("all kept: %q, want %q", got, d.now)
		}
		for _, s := range d.fs.Survivors(10, rapid.Uint64().Draw(t, "seed")) {
			d.checkSectors(t, s)
		}
	})
}

// dense is the file and its history since the last sync, as plain bytes.
type dense struct {
	fs          *FS
	file        vfs.File
	now, synced []byte
	history     []state
}

// state is one version; cut says that a truncation made it.
type state struct {
	bytes []byte
	cut   bool
}

func newDense(t *rapid.T) *dense {
	d := &dense{fs: New(Options{})}
	var err error
	if d.file, err = d.fs.OpenFile("/a", vfs.ReadWrite|vfs.Create); err != nil {
		t.Fatal(err)
	}
	if err := d.fs.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	d.history = []state{{}}
	return d
}

func (d *dense) step(t *rapid.T) {
	off := rapid.IntRange(0, 2500).Draw(t, "off")
	n := rapid.IntRange(1, 1500).Draw(t, "n")
	var err error
	op := rapid.SampledFrom([]string{"write", "write", "write", "cut", "punch", "sync"}).Draw(t, "op")
	switch op {
	case "write":
		p := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))}, n)
		_, err = d.file.WriteAt(p, int64(off))
		d.now = append(bytes.Clone(d.now), make([]byte, max(0, off+n-len(d.now)))...)
		copy(d.now[off:], p)
	case "cut":
		err = d.file.Truncate(int64(off))
		d.now = append(bytes.Clone(d.now), make([]byte, max(0, off-len(d.now)))...)[:off]
	case "punch":
		err = d.file.PunchHole(int64(off), int64(n))
		d.now = bytes.Clone(d.now)
		clear(d.now[min(off, len(d.now)):min(off+n, len(d.now))])
	case "sync":
		err = d.file.Sync()
		d.synced, d.history = d.now, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	d.history = append(d.history, state{bytes: d.now, cut: op == "cut"})
}

func (d *dense) read(t *rapid.T, f *FS) []byte {
	h, err := f.OpenFile("/a", vfs.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	info, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size)
	if _, err := h.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// checkSectors demands that the outcome's size, and each of its sectors up to
// that size, was in some version of the file since the last sync. What lies
// past a version's own end, or past a later cut, counts as zeros.
func (d *dense) checkSectors(t *rapid.T, s Survivors) {
	got := d.read(t, d.fs.Crash(s))
	sized := false
	for _, version := range d.history {
		sized = sized || len(version.bytes) == len(got)
	}
	if !sized {
		t.Fatalf("%s leaves %d bytes, which the file never had", s, len(got))
	}
	const sector = 512
	for lo := 0; lo < len(got); lo += sector {
		if want := got[lo:min(lo+sector, len(got))]; !d.had(want, lo) {
			t.Fatalf("%s leaves a sector at %d that the file never had: %.40q", s, lo, want)
		}
	}
}

func (d *dense) had(want []byte, lo int) bool {
	for i, version := range d.history {
		ends := []int{len(version.bytes)}
		for _, later := range d.history[i+1:] {
			if later.cut {
				ends = append(ends, min(len(later.bytes), len(version.bytes)))
			}
		}
		for _, end := range ends {
			padded := make([]byte, len(want))
			copy(padded, version.bytes[min(lo, end):end])
			if bytes.Equal(padded, want) {
				return true
			}
		}
	}
	return false
}
