//go:build linux || darwin || freebsd

package mmap

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
)

// A file cut short under its mapping is the one read failure of mapped memory
// that every machine can produce.
func TestGuardCatchesTruncation(t *testing.T) {
	f := tempFile(t, bytes.Repeat([]byte{9}, 1<<16))
	m, err := File(f, 1<<16, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	b, owner := m.View(0, 1<<16)
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(){
		"one byte": func() { sink = b[1<<15] },
		"copy":     func() { copy(make([]byte, 1<<16), b) },
		"compare":  func() { sink = byte(bytes.Compare(b, make([]byte, 1<<16))) },
	} {
		err := Guard(func() error { read(); return nil })
		var fault *FaultError
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v, want a *FaultError", name, err)
			continue
		}
		if fault.Addr == 0 || fault.Err == nil {
			t.Errorf("%s: the fault lacks its place: %+v", name, fault)
		}
	}
	runtime.KeepAlive(owner)
	if debug.SetPanicOnFault(false) {
		t.Error("a caught fault left faults as panics")
	}
}

var sink byte
