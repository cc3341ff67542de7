package vfstest

import (
	"strings"

	"github.com/lace-store/lace/pkg/store/vfs"
)

func punch(e *env) {
	const size = 1 << 20
	full := strings.Repeat("x", size)
	f := e.create("a", full)
	e.ok(f.Sync())
	if e.o.NoPunch {
		e.is("punch", f.PunchHole(0, size), vfs.ErrUnsupported)
		e.wantContents("a", full)
		return
	}
	before, err := f.Stat()
	e.ok(err)
	e.ok(f.PunchHole(5, 0))
	e.wantContents("a", full)
	const lo, hi = 4097, size - 5
	e.ok(f.PunchHole(lo, hi-lo))
	e.ok(f.Sync())
	e.wantContents("a", full[:lo]+strings.Repeat("\x00", hi-lo)+full[hi:])
	after, err := f.Stat()
	e.ok(err)
	if freed := before.Allocated - after.Allocated; freed < size/2 {
		e.Errorf("a hole of %d bytes freed %d", hi-lo, freed)
	}
	e.ok(f.PunchHole(hi, 1<<30))
	if got := e.contents(f); len(got) != size || got[hi:] != "\x00\x00\x00\x00\x00" {
		e.Errorf("a hole past the end left %d bytes", len(got))
	}
	e.ok(f.PunchHole(5<<20, 100))
	if after, err = f.Stat(); err != nil || after.Size != size {
		e.Errorf("a hole beyond the end made the size %d (%v)", after.Size, err)
	}
}

func punchGiant(e *env) {
	const size = 1 << 40
	f := e.open("a", vfs.ReadWrite|vfs.Create)
	e.ok(f.SetSparse())
	if err := f.Truncate(size); err != nil {
		e.Skipf("no file of a tebibyte here: %v", err)
	}
	for _, off := range []int64{0, size/2 - 1, size - 3} {
		_, err := f.WriteAt([]byte("abc"), off)
		e.ok(err)
	}
	e.ok(f.Sync())
	info, err := f.Stat()
	e.ok(err)
	if info.Size != size || info.Allocated <= 0 || info.Allocated > 8<<20 {
		e.Errorf("a sparse file of three written spots: %+v", info)
	}
	if e.o.NoPunch {
		return
	}
	e.ok(f.PunchHole(1, size-1))
	e.ok(f.Sync())
	for off, want := range map[int64]string{0: "a\x00\x00", size/2 - 1: "\x00\x00\x00", size - 3: "\x00\x00\x00"} {
		b := make([]byte, 3)
		if n, err := f.ReadAt(b, off); n != 3 || string(b) != want {
			e.Errorf("after the punch, offset %d holds %q (%v)", off, b[:n], err)
		}
	}
	if after, err := f.Stat(); err != nil || after.Size != size || after.Allocated >= info.Allocated {
		e.Errorf("before the punch %+v, after it %+v (%v)", info, after, err)
	}
}
