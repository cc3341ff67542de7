package compact

import (
	"context"
	"time"

	"github.com/lace-store/lace/pkg/store"
)

// Options say how a compaction runs.
type Options struct {
	// Phase, unless nil, is told the name of each phase when it begins, which
	// may be long before there is anything to count.
	Phase func(name string)
	// Progress, unless nil, is told how far each phase is.
	Progress func(Progress)
	// Now is the clock of the phase times; nil is time.Now.
	Now func() time.Time
	// IOLimit is the most bytes a second that moving reads and writes, both
	// together; 0 is any number. A stop request ends the holding back.
	IOLimit uint64
	// Wait passes time for the limit, until its context is done; nil is a
	// timer.
	Wait func(context.Context, time.Duration)
	// CarryDamaged lets a resume move records that were damaged before.
	CarryDamaged bool
	// Buffer and WorthGap are passed to the mover; zero is its default.
	Buffer   int
	WorthGap uint64
}

// Progress says that Done of Total units of a phase are finished.
type Progress struct {
	Phase string // plan, move, publish or reload, release
	Done  uint64
	Total uint64
	Unit  string // rows or bytes
}

// Outcome is what a run came to.
type Outcome string

// The outcomes. A run that ended with an error has none.
const (
	Done        Outcome = "done"
	Resumed     Outcome = "resumed"
	NothingToDo Outcome = "nothing-to-do"
)

// Report is what a run did. Boundary to Moved are determined by the plan, and
// the same after a resume as in one run; the rest is about this run alone.
type Report struct {
	Outcome  Outcome
	Boundary store.Position
	Retained Count
	Removed  Count
	// Released is the bytes between the old and the new end if they were given
	// back, and zero otherwise.
	Released uint64
	Release  Release
	Moved    uint64
	// Digest identifies the kept set and the root (kept_digest). It is zero
	// after the resume of a run that came to its end but for the release: the
	// rows it is made from are gone then.
	Digest [32]byte

	// Needed is the free space that the run asked for before it began, and Free
	// what there was, negative when the system does not tell; both are zero
	// when nothing had to be asked. CopyOnWrite says that an overwrite takes
	// space there, and that a snapshot may keep what is released.
	Needed      uint64
	Free        int64
	CopyOnWrite bool

	// NotFreed says why the file system gave back less than Released, or is
	// empty.
	NotFreed string
	// Unshrunk says what besides records does not shrink, and why, or is empty.
	Unshrunk        string
	AllocatedBefore uint64 // storage of records, in bytes
	AllocatedAfter  uint64
	Journaled       uint64 // bytes copied to journals
	Written         uint64 // bytes written to any file
	// TrustedRows are plan rows that only their destination could prove.
	TrustedRows []uint64
	// DamagedRows are plan rows that were moved although nothing proves them.
	DamagedRows []uint64
	Phases      []PhaseTime
}

// PhaseTime is how long a phase took.
type PhaseTime struct {
	Name    string
	Seconds float64
}
