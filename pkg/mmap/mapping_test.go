//go:build linux || darwin || freebsd || windows

package mmap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// closeCounter is a keep that counts how often it is closed.
type closeCounter struct {
	closed int
	err    error
}

func (c *closeCounter) Close() error {
	c.closed++
	return c.err
}

func tempFile(t *testing.T, content []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// collect runs the garbage collector until the mapping is gone, for a while.
func collect(m *Mapping) bool {
	for range 100 {
		runtime.GC()
		select {
		case <-m.Released():
			return true
		case <-time.After(5 * time.Millisecond):
		}
	}
	return false
}

func isReleased(m *Mapping) bool {
	select {
	case <-m.Released():
		return true
	default:
		return false
	}
}

func TestViewsShowTheFile(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 2000)
	f := tempFile(t, content)
	m, err := File(f, int64(len(content)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		off int64
		n   int
	}{{0, 0}, {0, 1}, {0, len(content)}, {4095, 2}, {19999, 1}, {20000, 0}} {
		b, owner := m.View(r.off, r.n)
		if !bytes.Equal(b, content[r.off:r.off+int64(r.n)]) {
			t.Errorf("View(%d, %d) = %q", r.off, r.n, b)
		}
		if len(b) != cap(b) {
			t.Errorf("View(%d, %d) has capacity %d beyond its length", r.off, r.n, cap(b))
		}
		runtime.KeepAlive(owner)
	}
	b, owner := m.View(7, 3)
	if _, err := f.WriteAt([]byte("abc"), 7); err != nil {
		t.Fatal(err)
	}
	if string(b) != "abc" {
		t.Errorf("after a positional write the view shows %q, want abc", b)
	}
	runtime.KeepAlive(owner)
	m.Release()
	if !collect(m) {
		t.Fatal("the mapping was not released")
	}
}

func TestViewOutsidePanics(t *testing.T) {
	m, err := File(tempFile(t, make([]byte, 100)), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	for _, r := range []struct {
		off int64
		n   int
	}{{-1, 1}, {0, -1}, {0, 101}, {100, 1}, {101, 0}, {1 << 62, 1 << 62}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("View(%d, %d) did not panic", r.off, r.n)
				}
			}()
			m.View(r.off, r.n)
		}()
	}
}

func TestOwnerKeepsMappingAndKeep(t *testing.T) {
	content := bytes.Repeat([]byte{7}, 1<<16)
	keep := &closeCounter{}
	m, err := File(tempFile(t, content), int64(len(content)), keep)
	if err != nil {
		t.Fatal(err)
	}
	b, owner := m.View(1<<15, 100)
	m.Release()
	m.Release()
	for range 5 {
		runtime.GC()
	}
	if isReleased(m) || keep.closed != 0 {
		t.Fatal("released while an owner is reachable")
	}
	if !bytes.Equal(b, content[:100]) {
		t.Fatal("the view lost its bytes")
	}
	runtime.KeepAlive(owner)
	owner = nil
	if !collect(m) {
		t.Fatal("not released although no owner is reachable")
	}
	if keep.closed != 1 {
		t.Fatalf("keep closed %d times, want once", keep.closed)
	}
}

func TestUnreleasedHolderKeepsMapping(t *testing.T) {
	keep := &closeCounter{}
	m, err := File(tempFile(t, make([]byte, 4096)), 4096, keep)
	if err != nil {
		t.Fatal(err)
	}
	m.View(0, 1)
	for range 5 {
		runtime.GC()
	}
	if isReleased(m) {
		t.Fatal("released although the holder still holds it")
	}
	m.Release()
	if !collect(m) {
		t.Fatal("not released")
	}
}

func TestForgottenHolderReleases(t *testing.T) {
	released := func() <-chan struct{} {
		m, err := File(tempFile(t, make([]byte, 4096)), 4096, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.View(0, 1)
		return m.Released()
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-released:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("a mapping whose holder was dropped is still mapped")
}

func TestUnviewedReleaseIsImmediate(t *testing.T) {
	broken := errors.New("close failed")
	keep := &closeCounter{err: broken}
	m, err := File(tempFile(t, make([]byte, 4096)), 4096, keep)
	if err != nil {
		t.Fatal(err)
	}
	if m.Err() != nil {
		t.Fatal("an error before the release")
	}
	m.Release()
	if !isReleased(m) || keep.closed != 1 {
		t.Fatal("a mapping without views must be released at once")
	}
	if !errors.Is(m.Err(), broken) {
		t.Fatalf("Err() = %v, want the error of keep", m.Err())
	}
	defer func() {
		if recover() == nil {
			t.Fatal("View of a released mapping did not panic")
		}
	}()
	m.View(0, 1)
}

func TestEmptyMapping(t *testing.T) {
	m, err := File(tempFile(t, nil), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, owner := m.View(0, 0)
	if len(b) != 0 || owner == nil {
		t.Fatalf("View = %v, %v", b, owner)
	}
	m.Release()
	runtime.KeepAlive(owner)
	if !collect(m) {
		t.Fatal("not released")
	}
}

func TestFileRefusals(t *testing.T) {
	f := tempFile(t, make([]byte, 10))
	keep := &closeCounter{}
	if _, err := File(f, 11, keep); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("mapping past the end: %v", err)
	}
	if _, err := File(f, -1, keep); err == nil {
		t.Error("a negative size was accepted")
	}
	f.Close()
	if _, err := File(f, 10, keep); !errors.Is(err, os.ErrClosed) {
		t.Errorf("mapping a closed file: %v", err)
	}
	if keep.closed != 0 {
		t.Error("a refused mapping closed keep")
	}
}

func TestTebibyteMapping(t *testing.T) {
	size := int64(1) << 40
	if runtime.GOOS == "windows" {
		size = 1 << 30
	}
	f := tempFile(t, []byte("start"))
	if err := f.Truncate(size); err != nil {
		t.Skipf("no sparse file of %d bytes here: %v", size, err)
	}
	m, err := File(f, size, nil)
	if err != nil {
		t.Skipf("no mapping of %d bytes here: %v", size, err)
	}
	if _, err := f.WriteAt([]byte("end"), size-3); err != nil {
		t.Fatal(err)
	}
	b, owner := m.View(size-4, 4)
	if string(b) != "\x00end" {
		t.Errorf("the last bytes are %q", b)
	}
	runtime.KeepAlive(owner)
	m.Release()
	if !collect(m) {
		t.Fatal("not released")
	}
}
