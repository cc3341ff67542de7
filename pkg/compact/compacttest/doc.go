// Package compacttest proves that a profile's compaction survives whatever
// happens to it: it cuts the power, kills, and fails syncs at every call that
// changes something, resumes, and compares with an oracle that knows nothing
// of the algorithm. It must not know a profile: each brings itself as a
// Subject, and Plain is one for the algorithm alone.
//
// A state is written as its shape and what happened, for instance
//
//	17 power@40/random:5 sync@12/lie:1/seed:3
//
// which is shape 17, compacted until the power is cut at call 40 with the
// survivors random:5, and resumed until the first sync at or after call 12
// fails. Every failure prints its state, and a run with LACE_CRASH_STATE set
// to it tries that state alone.
//
// After every event ordinary open is refused with the hint to resume, or the
// root is wholly old or wholly new, also on the disk; and one resume later it
// is wholly new and durable.
package compacttest
