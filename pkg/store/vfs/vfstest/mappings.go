package vfstest

import (
	"io"
	"runtime"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// counter is a keep that counts how often it is closed.
type counter struct{ closed int }

func (c *counter) Close() error {
	c.closed++
	return nil
}

func mapping(e *env) {
	f := e.create("a", "0123456789")
	m, err := f.Map(10, nil)
	e.ok(err)
	defer m.Release()
	e.ok(f.Close())
	e.ok(e.fs.Remove(e.at("a")))
	for _, r := range []struct {
		off  int64
		n    int
		want string
	}{{0, 10, "0123456789"}, {9, 1, "9"}, {10, 0, ""}, {0, 0, ""}} {
		b, owner := m.View(r.off, r.n)
		if string(b) != r.want {
			e.Errorf("View(%d, %d) = %q", r.off, r.n, b)
		}
		if owner == nil {
			e.Errorf("View(%d, %d) has no owner", r.off, r.n)
		}
		runtime.KeepAlive(owner)
	}
	for _, r := range []struct {
		off int64
		n   int
	}{{0, 11}, {10, 1}, {11, 0}, {-1, 1}, {0, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					e.Errorf("View(%d, %d) did not panic", r.off, r.n)
				}
			}()
			m.View(r.off, r.n)
		}()
	}
}

func mappingLifetime(e *env) {
	f := e.create("a", "0123456789")
	unviewed := &counter{}
	m, err := f.Map(10, unviewed)
	e.ok(err)
	if isReleased(m) {
		e.Error("released from the start")
	}
	m.Release()
	m.Release()
	if !collect(m) || unviewed.closed != 1 {
		e.Errorf("a mapping without views: keep closed %d times", unviewed.closed)
	}

	keep := &counter{}
	m, err = f.Map(10, keep)
	e.ok(err)
	b, owner := m.View(2, 3)
	m.Release()
	for range 3 {
		runtime.GC()
	}
	if isReleased(m) || keep.closed != 0 {
		e.Error("released under a reachable owner")
	}
	if string(b) != "234" {
		e.Errorf("the view holds %q", b)
	}
	runtime.KeepAlive(owner)
	if !collect(m) || keep.closed != 1 {
		e.Errorf("after the last owner, keep was closed %d times", keep.closed)
	}
}

func mappingRefusals(e *env) {
	f := e.create("a", "0123456789")
	keep := &counter{}
	_, err := f.Map(11, keep)
	e.is("a mapping past the end", err, io.ErrUnexpectedEOF)
	_, err = f.Map(-1, keep)
	e.fails("a mapping of a negative size", err)
	if keep.closed != 0 {
		e.Error("a refused mapping closed keep")
	}
	empty := e.open("empty", vfs.ReadWrite|vfs.Create)
	m, err := empty.Map(0, keep)
	e.ok(err)
	if b, _ := m.View(0, 0); len(b) != 0 {
		e.Errorf("an empty mapping shows %d bytes", len(b))
	}
	m.Release()
	if !collect(m) || keep.closed != 1 {
		e.Error("an empty mapping was not released")
	}
}
