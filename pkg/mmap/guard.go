package mmap

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// FaultError says that mapped memory could not be read: the disk failed, or
// the file was cut short under its mapping.
type FaultError struct {
	Addr uintptr       // the address that could not be read
	Err  runtime.Error // what the Go runtime said
}

// Error describes the fault.
func (e *FaultError) Error() string {
	return fmt.Sprintf("memory fault at %#x: the mapped file could not be read or was cut short", e.Addr)
}

// Unwrap returns the runtime's error.
func (e *FaultError) Unwrap() error { return e.Err }

// Guard runs f and returns its error. When f, on this goroutine, touches
// memory that cannot be read, Guard returns a *FaultError instead of letting
// the program crash. Every other panic goes on as it came, a nil dereference
// among them. Goroutines that f starts are not guarded.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = &FaultError{Addr: cause.Addr(), Err: cause}
		default:
			panic(cause)
		}
	}()
	return f()
}
