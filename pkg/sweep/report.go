package sweep

import (
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
)

// Result is what a sweep decided, and what that took.
type Result struct {
	Kept   *kept.Set // over (0, Boundary]: selected by at least one module
	Report Report
}

// Report is the cost of a sweep and what each module contributed.
type Report struct {
	Boundary   store.Position
	Retained   uint64
	Options    Options // as they were in effect
	Operations uint64  // store operations
	Modules    []ModuleReport
}

// ModuleReport is one module's part.
type ModuleReport struct {
	File        string
	Kept        *kept.Set // what the module selects
	Retained    uint64
	WorkAllowed uint64 // of each window
	Windows     []WindowReport
}

// WindowReport is the cost of one module in one window (Lower, Upper].
type WindowReport struct {
	Lower, Upper store.Position
	Work         uint64 // join bindings and record reads
	RecordsRead  uint64
	// Rows has the tuples of each relation that was derived for this window.
	// A relation that all windows share is derived with the first.
	Rows map[string]uint64
}
