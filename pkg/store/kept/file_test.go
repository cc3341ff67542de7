package kept_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
)

// file encodes a set with fixed digests.
func file(t testing.TB, set *kept.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := set.WriteFile(&b, [32]byte{1}, [32]byte{2}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decode reads a whole file.
func decode(r io.Reader) (kept.Header, *kept.Set, error) {
	f, err := kept.NewReader(r)
	if err != nil {
		return kept.Header{}, nil, err
	}
	set, err := f.Set()
	return f.Header, set, err
}

func example() *kept.Set {
	set := kept.New(77)
	for _, id := range []store.RecordID{1, 64, 65, 77} {
		set.Add(id)
	}
	return set
}

func TestFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		boundary := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Just(uint64(64<<10*8)), rapid.Just(uint64(64<<10*8+1))).Draw(rt, "boundary")
		set := kept.New(store.Position(boundary))
		if boundary > 0 {
			for _, id := range rapid.SliceOf(rapid.Uint64Range(1, boundary)).Draw(rt, "ids") {
				set.Add(store.RecordID(id))
			}
		}
		h, got, err := decode(iotest.OneByteReader(bytes.NewReader(file(t, set))))
		if err != nil {
			rt.Fatal(err)
		}
		want := kept.Header{RootLog: [32]byte{1}, Boundary: set.Boundary(), Retained: set.Count(), Policies: [32]byte{2}, Kept: set.Digest([32]byte{1})}
		if h != want || got.Count() != set.Count() || !bytes.Equal(got.Bitmap(), set.Bitmap()) {
			rt.Fatalf("read %+v and %d ids, want %+v and %d", h, got.Count(), want, set.Count())
		}
	})
}

// A file that lost or changed any byte is refused, and so is a longer one.
func TestFileDamage(t *testing.T) {
	whole := file(t, example())
	refused := func(what string, b []byte) {
		t.Helper()
		_, _, err := decode(bytes.NewReader(b))
		var form *kept.FormatError
		if !errors.As(err, &form) {
			t.Errorf("%s: %v, want a FormatError", what, err)
		}
	}
	for i := range whole {
		refused(fmt.Sprintf("cut at %d", i), whole[:i])
		for bit := range 8 {
			b := slices.Clone(whole)
			b[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, i), b)
		}
	}
	refused("one byte more", append(slices.Clone(whole), 0))
}

// resum makes the checksum of a changed file right again.
func resum(b []byte) []byte {
	sum := blake3.Sum256(b[:len(b)-32])
	return append(slices.Clone(b[:len(b)-32]), sum[:]...)
}

// What a checksum does not catch, because it was made for it.
func TestFileContradictions(t *testing.T) {
	whole := file(t, example())
	change := func(old, new string) []byte { return resum(bytes.Replace(whole, []byte(old), []byte(new), 1)) }
	padding := slices.Clone(whole)
	padding[len(padding)-33] |= 0x80
	otherSet := slices.Clone(whole)
	otherSet[len(otherSet)-34] = 0
	otherSet[len(otherSet)-35] |= 2
	for name, c := range map[string]struct {
		file  []byte
		where string
	}{
		"another version":          {change("lace-kept/1", "lace-kept/2"), "magic"},
		"a longer version":         {change("lace-kept/1", "lace-kept/11"), "magic"},
		"upper-case digest":        {change("root-log: 0100", "root-log: 0A00"), "root-log"},
		"leading zero":             {change("boundary: 77", "boundary: 077"), "boundary"},
		"sign":                     {change("boundary: 77", "boundary: +77"), "boundary"},
		"boundary beyond 64 bits":  {change("boundary: 77", "boundary: 18446744073709551616"), "boundary"},
		"greatest boundary":        {change("boundary: 77", "boundary: 18446744073709551615"), "bitmap"},
		"another count":            {change("retained: 4", "retained: 5"), "bitmap"},
		"count above the boundary": {change("retained: 4", "retained: 78"), "retained"},
		"a set bit of the padding": {resum(padding), "bitmap"},
		"another root":             {change("root-log: 0100", "root-log: 0200"), "kept"},
		"another set":              {resum(otherSet), "kept"},
		"carriage return":          {change("boundary: 77\n", "boundary: 77\r\n"), "boundary"},
		"endless line":             {[]byte("lace-kept/1\nroot-log: " + strings.Repeat("a", 1<<20)), "root-log"},
		"empty":                    {nil, "magic"},
	} {
		_, _, err := decode(bytes.NewReader(c.file))
		var form *kept.FormatError
		if !errors.As(err, &form) || form.Where != c.where {
			t.Errorf("%s: %v, want a FormatError at %s", name, err, c.where)
		}
	}
}

// A header that claims 2^60 records allocates nothing for them.
func TestFileClaimIsNotAllocated(t *testing.T) {
	b := bytes.Replace(file(t, example()), []byte("boundary: 77"), []byte("boundary: 1152921504606846976"), 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := decode(bytes.NewReader(b)); err == nil {
		t.Error("accepted")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

// A failing disk is no damaged file.
func TestFileReadError(t *testing.T) {
	whole := file(t, example())
	broken := errors.New("broken")
	for n := range whole {
		_, _, err := decode(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Fatalf("after %d bytes: %v, want the error of the reader", n, err)
		}
	}
}

func TestFileWriteError(t *testing.T) {
	broken := errors.New("broken")
	size := len(file(t, example()))
	for n := range size {
		if err := example().WriteFile(&limited{n, broken}, [32]byte{}, [32]byte{}); !errors.Is(err, broken) {
			t.Fatalf("after %d bytes: %v, want the error of the writer", n, err)
		}
	}
}

// limited takes so many bytes and then fails.
type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return l.left, l.err
	}
	l.left -= len(p)
	return len(p), nil
}

// FuzzFile: reading never panics, and what is accepted is written the same.
func FuzzFile(f *testing.F) {
	f.Add(file(f, example()))
	f.Add(file(f, kept.New(0)))
	f.Add(file(f, kept.New(64)))
	f.Add([]byte("lace-kept/1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// A fuzzer does not find checksums.
		for _, b := range [][]byte{b, resumed(b)} {
			h, set, err := decode(bytes.NewReader(b))
			if err != nil {
				var form *kept.FormatError
				if !errors.As(err, &form) {
					t.Fatalf("not a FormatError: %v", err)
				}
				continue
			}
			var again bytes.Buffer
			if err := set.WriteFile(&again, h.RootLog, h.Policies); err != nil || !bytes.Equal(again.Bytes(), b) {
				t.Fatalf("accepted %q, written %q (%v)", b, again.Bytes(), err)
			}
		}
	})
}

func resumed(b []byte) []byte {
	if len(b) < 32 {
		return b
	}
	return resum(b)
}
