package sweep

import (
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/sweep/eval"
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
	WorkAllowed uint64 // of each window, together with what is shared
	Shared      Cost   // of what was derived once, for all windows
	Windows     []WindowReport
}

// WorkUsed returns the most that one window took of what is allowed.
func (m ModuleReport) WorkUsed() uint64 {
	most := uint64(0)
	for _, w := range m.Windows {
		most = max(most, w.Work)
	}
	return m.Shared.Work + most
}

// WindowReport is the cost of one module in one window (Lower, Upper].
type WindowReport struct {
	Lower, Upper store.Position
	Cost
}

// Cost counts work, which is join bindings and record reads, the records that
// were read, and the tuples of each relation that was derived.
type Cost = eval.Cost
