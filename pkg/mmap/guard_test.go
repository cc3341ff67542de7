package mmap

import (
	"errors"
	"runtime/debug"
	"testing"
)

func TestGuardPassesResults(t *testing.T) {
	if err := Guard(func() error { return nil }); err != nil {
		t.Fatalf("Guard = %v", err)
	}
	own := errors.New("own")
	if err := Guard(func() error { return own }); err != own {
		t.Fatalf("Guard = %v, want the function's error", err)
	}
}

func TestGuardRepanics(t *testing.T) {
	var nothing *struct{ n int }
	beyond := 1
	for name, f := range map[string]func(){
		"value":           func() { panic("mine") },
		"nil dereference": func() { nothing.n++ },
		"index":           func() { _ = make([]int, 1)[beyond] },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was swallowed", name)
				}
			}()
			if err := Guard(func() error { f(); return nil }); err != nil {
				t.Errorf("%s: became the error %v", name, err)
			}
		}()
	}
}

func TestGuardRestoresSetting(t *testing.T) {
	for _, before := range []bool{true, false} {
		restore := debug.SetPanicOnFault(before)
		if err := Guard(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := debug.SetPanicOnFault(restore); got != before {
			t.Errorf("after Guard the setting is %v, want %v", got, before)
		}
	}
}
