package faultfs

import "io/fs"

// Fault says which calls fail, and how.
type Fault struct {
	// Match chooses among the calls; nil means Changing.
	Match func(Call) bool
	// At is the number of the first matching call that fails, counted from 1
	// since Inject. 0 means 1.
	At int
	// Err is what the call returns, wrapped. It is required.
	Err error
	// KeepFailing makes every later matching call fail too.
	KeepFailing bool
	// Short is how many bytes a failing Read or Write still transfers.
	Short int
	// After performs the call before it fails. A failing Close always closes,
	// and a failing Map never maps, because keep stays with the caller.
	After bool
}

// of is the error of a call that the fault hits.
func (f *Fault) of(c Call) error {
	return &fs.PathError{Op: string(c.Op), Path: c.Path, Err: f.Err}
}

// Injection is a fault at work.
type Injection struct {
	fs    *FS
	fault Fault
	seen  int
	fired int
}

// Inject adds a fault. When several hit one call, the first injected wins.
func (f *FS) Inject(fault Fault) *Injection {
	if fault.Err == nil {
		panic("faultfs: a fault without an error")
	}
	if fault.Match == nil {
		fault.Match = Changing
	}
	fault.At = max(fault.At, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	injection := &Injection{fs: f, fault: fault}
	f.injections = append(f.injections, injection)
	return injection
}

// Fired is the number of calls that the fault has hit. A test of a fault that
// never fired proves nothing.
func (i *Injection) Fired() int {
	i.fs.mu.Lock()
	defer i.fs.mu.Unlock()
	return i.fired
}

// Remove ends the fault.
func (i *Injection) Remove() {
	i.fs.mu.Lock()
	defer i.fs.mu.Unlock()
	for n, other := range i.fs.injections {
		if other == i {
			i.fs.injections = append(i.fs.injections[:n:n], i.fs.injections[n+1:]...)
			return
		}
	}
}

// hits counts the call and says whether it fails. The caller holds the mutex.
func (i *Injection) hits(c Call) bool {
	if !i.fault.Match(c) {
		return false
	}
	i.seen++
	if i.seen == i.fault.At || i.seen > i.fault.At && i.fault.KeepFailing {
		i.fired++
		return true
	}
	return false
}
