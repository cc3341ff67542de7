// Package compact removes the records of a root that a kept set leaves out, in
// place, and finishes what an interrupted run left (seed 000). It owns the
// algorithm; a Profile owns the files. It must not know policies, facts,
// indexes or any profile.
//
//	A plan     compaction-plan: where every retained record lies and goes
//	B state    compaction-state "move 0"; from here on a resume goes forward
//	C move     batches, see package move
//	D publish  the profile's row table gets the plan's rows at their new offsets
//	          or, for a Reloader, state "reload 0", and its database is reloaded
//	E release  the bytes behind the new end are given back
//	F finish   journal, state and plan are removed, in this order
//
// Every replace is atomic and durable before the next step, so that each file
// is absent or complete, and what is there says how far the run came.
package compact
